"""What verdicts rest on, in the words of people: what a signal means first, and the code that programs know it by beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from clusters.domain.signals import Heard
from clusters.domain.state import ClusterState
from clusters.signals.xids import sxid_meaning, xid_meaning

#: A signal as verdicts quote it (scheduling.domain.verdicts.doubts.quote): who said it, what, and the event that has it.
_QUOTE = re.compile(r"(?P<source>.+?): (?P<said>.+) \(event (?P<seq>\d+)\)", re.DOTALL)
_NUMBERED = re.compile(r"(?P<table>s?xid):(?P<number>\d{1,9})")
_DCGM = "dcgm:DCGM_FR_"


class Saying(NamedTuple):
    """One piece of evidence."""

    words: str
    code: str  # as the source named it; "" where it is in the words already
    component: str
    source: str
    seq: int | None  # the event that has it


def meaning_of(code: str) -> str:
    """What a code means by the catalogues, or by its own words; "" where they say nothing of it."""
    if (numbered := _NUMBERED.fullmatch(code)) is not None:
        meaning = xid_meaning if numbered["table"] == "xid" else sxid_meaning
        return meaning(int(numbered["number"])).name
    if code.startswith(_DCGM):
        return f"DCGM: {code.removeprefix(_DCGM).replace('_', ' ').lower()}"
    return ""


def told_as(text: str) -> Saying:
    """A cause or reason that may be nothing but a code."""
    meaning = meaning_of(text)
    return Saying(meaning or text, text if meaning else "", "", "", None)


def sayings(state: ClusterState, nodes: Iterable[str], evidence: Iterable[str]) -> list[Saying]:
    """The evidence against these nodes, each piece in words; the caller holds the state."""
    heard = {signal.seq: signal for node in nodes if node in state.nodes for signal in state.nodes[node].signals}
    return [_saying(text, heard) for text in evidence]


def _saying(text: str, heard: dict[int, Heard]) -> Saying:
    quote = _QUOTE.fullmatch(text)
    if quote is None:
        return told_as(text)
    seq = int(quote["seq"])
    signal = heard.get(seq)
    if signal is None:  # forgotten since: what was quoted of it is all there is
        code, _, rest = quote["said"].partition(" ")
        meaning = meaning_of(code)
        return Saying(meaning or quote["said"], code if meaning else "", rest if meaning else "", quote["source"], seq)
    words = signal.text or meaning_of(signal.code)
    return Saying(words or signal.code, signal.code if words else "", signal.component, signal.source, seq)

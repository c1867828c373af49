"""Signals as plain JSON, once their fields are known to be of the right types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clusters.domain.signals import SignalKind, SignalScope
from clusters.inventory.names import NAME_RULE, is_name
from clusters.signals.model import Signal, instant_of
from clusters.signals.xids import Meaning, dcgm_meaning, sxid_meaning, xid_meaning

#: (path of the field, its value, what would be right)
Wrong = tuple[str, object, str]

_CATALOGUED = re.compile(r"(xid|sxid):(\d{1,6})")
_DCGM = re.compile(r"dcgm:(DCGM_[A-Z0-9_]{1,60})")


def meaning_of(code: str, text: str = "", product: str = "") -> Meaning:
    """What a code says by the catalogue; a doubt where it is none of its codes."""
    known = _CATALOGUED.fullmatch(code)
    if known is not None:
        number = int(known[2])
        return xid_meaning(number, text, product) if known[1] == "xid" else sxid_meaning(number, text)
    error = _DCGM.fullmatch(code)
    return dcgm_meaning(error[1]) if error else Meaning(SignalKind.SOFT, SignalScope.NODE, "", known=False)


def read_plain(values: Sequence[Mapping[str, Any]], product: str) -> tuple[tuple[Signal, ...], list[Wrong]]:
    """The signals, or everything that is wrong with them by its place."""
    wrong: list[Wrong] = []
    signals = tuple(_signal(f"signals[{place}]", value, product, wrong) for place, value in enumerate(values))
    numbered = {signal.seq is not None for signal in signals}
    if len(numbered) > 1:
        place = next(place for place, signal in enumerate(signals) if signal.seq is None)
        wrong.append((f"signals[{place}].seq", None, "give the feed's counter with every signal, or with none"))
    return signals, wrong


def _signal(place: str, value: Mapping[str, Any], product: str, wrong: list[Wrong]) -> Signal:
    meaning = meaning_of(value["code"], value["text"], product)
    told = value["occurred_at"]
    at = instant_of(told) if told else None
    if told and at is None:
        wrong.append((f"{place}.occurred_at", told, "give a day that there is, after 1970"))
    if not is_name(value["node"]):
        wrong.append((f"{place}.node", value["node"], NAME_RULE))
    return Signal(
        node=value["node"],
        code=value["code"],
        kind=SignalKind(value["kind"]) if value["kind"] else meaning.kind,
        scope=SignalScope(value["scope"]) if value["scope"] else meaning.scope,
        check=value["check"] or value["code"],
        component=value["component"],
        text=value["text"] or meaning.name if value["kind"] else meaning.worded(value["text"]),
        action=value["action"] or meaning.action,
        lasting=value["lasting"],
        evidence=tuple(value["evidence"]),
        occurred_at=at,
        id=value["id"],
        seq=value.get("seq"),
    )

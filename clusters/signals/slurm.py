"""Slurm's node states as signals: what `scontrol show nodes --json`, `sinfo --json` and `sinfo -h -N -o '%N|%T|%E'` print.

A node is a snapshot, as in Kubernetes: each flag that its state raises stands, each other is taken back. States mean what they mean to
inventories; the signs that sinfo puts behind a word are words of their own.
"""

from __future__ import annotations

from clusters.domain.health import Flag
from clusters.domain.signals import SignalKind
from clusters.inventory.slurm_nodes import FUTURE, flags_of, state_words
from clusters.signals.kubernetes import KIND_OF_FLAG
from clusters.signals.model import Collector, Parsed, Signal, items, mapping, text

#: Flags that Slurm can raise; every node says of each whether it does.
FLAGS = (Flag.UNREACHABLE, Flag.FAILED, Flag.QUARANTINED, Flag.DRAINING, Flag.SUSPECT)

#: What sinfo writes behind a state.
SIGNS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINT",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
    "+": "",
}
#: sinfo's short words.
_SHORT = {"alloc": "ALLOCATED", "mix": "MIXED", "comp": "COMPLETING", "drng": "DRAINING", "unk": "UNKNOWN", "failg": "FAILING"}
_NO_REASON = ("", "none", "(null)", "N/A")


def parse(document: object) -> Parsed:
    """The signals of Slurm's JSON, or of sinfo's lines as text."""
    found = Collector()
    if isinstance(document, str):
        _lines(found, document)
        return found.parsed()
    body = mapping(document)
    nodes = body.get("nodes", body.get("sinfo"))
    if not isinstance(nodes, list):
        found.refuse("", "there is no list of nodes; give what scontrol show nodes --json prints")
        return found.parsed()
    for error in map(mapping, items(body.get("errors"))):
        found.refuse("errors", f"Slurm answered with an error: {text(error.get('description')) or text(error.get('error'))}")
    for number, item in enumerate(nodes, start=1):
        _read(found, f"node {number}", mapping(item))
    return found.parsed()


def _read(found: Collector, position: str, item: dict[str, object]) -> None:
    states = state_words(item.get("state"), item.get("state_flags", []))
    if states is None:  # sinfo's rows are groups of nodes
        states = state_words(mapping(item.get("node")).get("state"), [])
    names = [text(item.get("name"))] if item.get("name") else [text(name) for name in items(mapping(item.get("nodes")).get("nodes"))]
    if states is None:
        found.refuse(position, 'it has no state; a state is a list of words, like ["IDLE", "DRAIN"]')
        return
    if not names:
        found.refuse(position, "it has no name")
    reason = item.get("reason")
    for name in names:
        _say(found, position, name, states, text(reason if isinstance(reason, str) else mapping(reason).get("description")))


def _lines(found: Collector, lines: str) -> None:
    for number, line in enumerate(lines.splitlines(), start=1):
        if not line.strip():
            continue
        name, _, rest = line.partition("|")
        word, _, reason = rest.partition("|")
        states = _words(word.strip())
        if not states:
            found.refuse(f"line {number}", "give NODE|STATE|REASON, as sinfo -h -N -o '%N|%T|%E' prints")
        else:
            _say(found, f"line {number}", name.strip(), states, reason.strip())


def _words(told: str) -> tuple[str, ...]:
    """`drained*` to its words."""
    word = told.rstrip("".join(SIGNS))
    signs = [SIGNS[sign] for sign in told[len(word) :] if SIGNS[sign]]
    return (_SHORT.get(word.lower(), word.upper()), *signs) if word else ()


def _say(found: Collector, position: str, name: str, states: tuple[str, ...], reason: str) -> None:
    if FUTURE in states:
        return
    flags = flags_of(states, "" if reason in _NO_REASON else reason)
    for flag in FLAGS:
        kind = KIND_OF_FLAG[flag] if flag in flags else SignalKind.RECOVERED
        told = flags.get(flag, "")
        check = f"state {flag.value}"
        found.add(position, Signal(node=name, code=f"slurm:{flag.value}", kind=kind, check=check, text=told, lasting=True))

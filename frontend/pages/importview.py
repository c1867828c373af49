"""What an import would do, drawn: counts by kind, the racks that change, and what is wrong with the file."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from clusters.domain.books import CONDITIONS
from clusters.domain.events import Payload
from clusters.domain.inventory_events import NodeAbsent, NodeChanged, NodeRegistered, RackRegistered
from clusters.domain.state import ClusterState, Node
from clusters.domain.topology import natural_key
from clusters.inventory.model import Problem
from clusters.inventory.service import ImportReport
from frontend.selectors.telling import tone_of, words_of

#: Racks drawn, changes and problems listed; the rest is counted.
MOST_RACKS = 160
MOST_CHANGES = 100
MOST_PROBLEMS = 100

#: What can become of a node, first that holds, with its label.
CHANGES = {
    "absent": "No longer there",
    "new": "New",
    "changed": "Described anew",
    "condition": "In another condition",
    "same": "As it is",
}
_CHANGE_OF: dict[type, str] = {NodeAbsent: "absent", NodeRegistered: "new", NodeChanged: "changed"}
_RANK = list(CHANGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The racks that change, and how many do."""

    blocks: list[dict[str, Any]]
    racks: int
    left_out: int
    counts: list[dict[str, Any]]


def fingerprint(facts: Iterable[Payload]) -> str:
    """Tells whether what would happen is still what was looked at."""
    told = msgspec.json.encode([(type(fact).__name__, fact) for fact in facts])
    return hashlib.blake2b(told, digest_size=16).hexdigest()


def preview_context(report: ImportReport) -> dict[str, Any]:
    """All that the preview shows of a dry run."""
    assert report.after is not None
    return {
        "report": {"racks": report.racks, "nodes": report.nodes, "events": report.events},
        "kinds": [{"kind": kind, "count": count} for kind, count in _kinds(report.facts)],
        "states": [{"value": value.value, "count": report.states[value.value]} for value in CONDITIONS if value.value in report.states],
        "drawing": draw(report.facts, report.after),
        "changes": [_told(fact) for fact in report.facts[:MOST_CHANGES]],
        "more_changes": max(0, report.events - MOST_CHANGES),
        "fingerprint": fingerprint(report.facts),
        **problems_context(report.problems),
    }


def problems_context(problems: tuple[Problem, ...]) -> dict[str, Any]:
    """Problems, those that refuse the file first."""
    listed = sorted(problems, key=lambda problem: not problem.fatal)
    return {"problems": listed[:MOST_PROBLEMS], "more_problems": max(0, len(listed) - MOST_PROBLEMS)}


def draw(facts: Iterable[Payload], after: ClusterState) -> Drawing:
    """The racks in which anything changes, by block."""
    changes, racks = _by_node(facts)
    changed = racks | {after.nodes[name].rack for name in changes if name in after.nodes}
    members: dict[str, list[Node]] = defaultdict(list)
    for node in after.nodes.values():
        if node.rack in changed:
            members[node.rack].append(node)
    found = sorted(
        (name for name in changed if name in after.racks), key=lambda name: (natural_key(after.racks[name].block), natural_key(name))
    )
    blocks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name in found[:MOST_RACKS]:
        blocks[after.racks[name].block].append(_rack(name, members[name], changes))
    counts = Counter(changes.get(node.name, "same") for nodes in members.values() for node in nodes)
    return Drawing(
        blocks=[{"name": name, "racks": drawn} for name, drawn in blocks.items()],
        racks=len(found),
        left_out=max(0, len(found) - MOST_RACKS),
        counts=[{"change": change, "label": label, "count": counts[change]} for change, label in CHANGES.items() if counts[change]],
    )


def _by_node(facts: Iterable[Payload]) -> tuple[dict[str, str], set[str]]:
    """What becomes of each node that any fact is about, and the racks that are registered."""
    changes: dict[str, str] = {}
    racks: set[str] = set()
    for fact in facts:
        if isinstance(fact, RackRegistered):
            racks.add(fact.rack)
            continue
        name, change = getattr(fact, "node", ""), _CHANGE_OF.get(type(fact), "condition")
        changes[name] = min(changes.get(name, change), change, key=_RANK.index)
    return changes, racks


def _rack(name: str, nodes: list[Node], changes: dict[str, str]) -> dict[str, Any]:
    cells = [
        {"name": node.name, "change": change, "told": f"{node.name}: {CHANGES[change].lower()}, {node.condition.value.replace('_', ' ')}"}
        for node in sorted(nodes, key=lambda node: natural_key(node.name))
        for change in (changes.get(node.name, "same"),)
    ]
    counted = Counter(cell["change"] for cell in cells)
    told = ", ".join(f"{counted[change]} {label.lower()}" for change, label in CHANGES.items() if counted[change])
    return {"name": name, "cells": cells, "told": told}


def _kinds(facts: Iterable[Payload]) -> Iterator[tuple[str, int]]:
    yield from Counter(type(fact).__name__ for fact in facts).most_common()


def _told(fact: Payload) -> dict[str, str]:
    title, detail = words_of(fact)
    return {"title": title, "detail": detail, "tone": tone_of(fact)}

"""Incidents as lists show them: those of several nodes by themselves, and single nodes of the same cause and minute as one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from clusters.domain.books import Condition
from clusters.domain.ids import MINUTE
from clusters.domain.state import ClusterState
from frontend.selectors.evidence import sayings, told_as
from frontend.selectors.incidents import Incident

#: Of each row: pieces of evidence, jobs and racks that are named.
MOST_SAID = 3
MOST_JOBS = 3
MOST_RACKS = 3

_ORDER = [condition.value for condition in Condition]


class _Alike(NamedTuple):
    """What single nodes have in common that stand in one row."""

    condition: str
    cause: str
    sources: tuple[str, ...]
    minute: int


def rows_of(state: ClusterState, found: Iterable[Incident]) -> list[dict[str, Any]]:
    """The rows: incidents of several nodes before single nodes, the newest first; the caller holds the state."""
    together: list[list[Incident]] = []
    alone: dict[_Alike, list[Incident]] = {}
    for incident in found:
        if incident.id:
            together.append([incident])
        else:
            alone.setdefault(_alike(incident), []).append(incident)
    return [_row(state, group) for group in (*sorted(together, key=_newest), *sorted(alone.values(), key=_newest))]


def _newest(group: Sequence[Incident]) -> int:
    return -max(incident.since_us or 0 for incident in group)


def _alike(incident: Incident) -> _Alike:
    return _Alike(incident.nodes[0].condition, incident.cause, _sources(incident), (incident.since_us or 0) // MINUTE)


def _sources(incident: Incident) -> tuple[str, ...]:
    return tuple(dict.fromkeys(report.source for node in incident.nodes for report in node.reports))


def _row(state: ClusterState, group: Sequence[Incident]) -> dict[str, Any]:
    first = group[0]
    nodes = [node for incident in group for node in incident.nodes]
    racks = list(dict.fromkeys(node.rack for node in nodes))
    jobs = {job.job: job.name for node in nodes for job in node.jobs}
    conditions = Counter(node.condition for node in nodes)
    evidence = [text for text in first.evidence if text != first.cause] if len(group) == 1 else []
    return {
        "id": first.id or nodes[0].node,
        "name": _name(first, len(nodes), len(racks)),
        "condition": min(conditions, key=_ORDER.index),
        "cause": told_as(first.cause),
        "since_us": first.since_us,
        "source": ", ".join(_sources(first)),
        "evidence": sayings(state, (node.node for node in nodes), evidence[:MOST_SAID]),
        "more_evidence": max(0, len(evidence) - MOST_SAID),
        "count": len(nodes),
        "nodes": [{"name": node.node, "rack": node.rack} for node in nodes],
        "racks": racks[:MOST_RACKS],
        "more_racks": max(0, len(racks) - MOST_RACKS),
        "jobs": [{"id": job, "name": name} for job, name in list(jobs.items())[:MOST_JOBS]],
        "more_jobs": max(0, len(jobs) - MOST_JOBS),
    }


def _name(first: Incident, nodes: int, racks: int) -> str:
    if nodes == 1 and not first.id:
        return first.nodes[0].node
    if first.id:
        where = f"of {first.nodes[0].domain or first.nodes[0].rack}"
    else:
        where = f"in {first.nodes[0].rack}" if racks == 1 else f"in {racks:,} racks"
    return f"{nodes:,} node{'' if nodes == 1 else 's'} {where}"

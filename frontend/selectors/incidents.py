"""What is wrong with nodes now, as the log has it: one entry a node that is failed or quarantined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from clusters.domain.errors import UnknownSubject
from clusters.domain.health import Flag
from clusters.domain.state import ClusterState, Node
from frontend.selectors.clusters import layout_of
from frontend.selectors.nodes import Mark

#: What makes an incident of a node; that it is drained or away is somebody's wish, or an open question.
FLAGS = (Flag.FAILED, Flag.QUARANTINED)


class Affected(msgspec.Struct, frozen=True):
    """A job that the node's trouble concerns now."""

    job: str
    name: str
    lost: bool  # it waits for another node in this one's place; else its work is on the node still


class Incident(msgspec.Struct, frozen=True):
    """A node that is failed or quarantined."""

    node: str
    rack: str
    block: str
    domain: str | None
    condition: str
    since_us: int  # cluster time; the earliest of the reports
    reports: list[Mark]  # who says so, since when and why: the latest of each source
    jobs: list[Affected]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFilter:
    """Which incidents; "" means all."""

    flag: str = ""
    block: str = ""
    rack: str = ""
    domain: str = ""

    def takes(self, found: Incident) -> bool:
        """Whether the incident is one of these."""
        flagged = not self.flag or any(report.flag == self.flag for report in found.reports)
        pairs = ((self.block, found.block), (self.rack, found.rack), (self.domain, found.domain))
        return flagged and all(wanted in ("", value) for wanted, value in pairs)


def incidents_from(state: ClusterState, chosen: IncidentFilter, after: str) -> Iterator[Incident]:
    """Incidents in the order in which nodes are drawn, from behind a node; raises UnknownSubject. The caller holds the state."""
    layout = layout_of(state)
    if after and after not in state.nodes:
        raise UnknownSubject(f"there is no node {after!r} in cluster {state.name}")
    first = layout.draw[state.topology.index[after]] + 1 if after else 0
    waiting = _waiting(state)
    for name in layout.nodes[first:]:
        node = state.nodes[name]
        if any(mark.on and flag in FLAGS for (flag, _), mark in node.marks.items()):
            found = _incident(state, node, waiting)
            if chosen.takes(found):
                yield found


def _waiting(state: ClusterState) -> Mapping[str, list[str]]:
    """Lost node -> jobs that have nothing in its place yet."""
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for job in sorted(state.lost):
        for part in state.jobs[job].slices:
            for node in part.lost.values():
                waiting[node].append(job)
    return waiting


def _incident(state: ClusterState, node: Node, waiting: Mapping[str, list[str]]) -> Incident:
    rack = state.racks.get(node.rack)
    reports = [
        Mark(flag.value, source, mark.since, mark.reason, mark.owner, mark.exit_rule, mark.evidence)
        for (flag, source), mark in sorted(node.marks.items())
        if mark.on and flag in FLAGS
    ]
    holders = [node.job] if node.job else sorted(node.shares)
    jobs = [(job, False) for job in holders] + [(job, True) for job in waiting.get(node.name, ())]
    return Incident(
        node=node.name,
        rack=node.rack,
        block=rack.block if rack else "",
        domain=node.domain,
        condition=node.condition.value,
        since_us=min(report.since_us for report in reports),
        reports=reports,
        jobs=[Affected(job, state.jobs[job].request.name, lost) for job, lost in jobs],
    )

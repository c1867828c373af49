"""What is wrong with nodes now, as the log has it: incidents first, then each node that is failed or quarantined by itself."""

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
from scheduling.domain.verdicts.breaker import breaker_limit

#: What makes an incident of a node; that it is drained or away is somebody's wish, or an open question.
FLAGS = (Flag.FAILED, Flag.QUARANTINED)


class Affected(msgspec.Struct, frozen=True):
    """A job that the node's trouble concerns now."""

    job: str
    name: str
    lost: bool  # it waits for another node in this one's place; else its work is on the node still


class Trouble(msgspec.Struct, frozen=True):
    """A node that is failed or quarantined, or that belongs to an incident."""

    node: str
    rack: str
    block: str
    domain: str | None
    condition: str
    since_us: int | None  # cluster time; the earliest of the reports, None where there is none any more
    reports: list[Mark]  # who says so, since when and why: the latest of each source
    jobs: list[Affected]


class Incident(msgspec.Struct, frozen=True):
    """Nodes that failed of one cause, or one node by itself."""

    id: str  # "" for a node by itself
    cause: str
    since_us: int | None  # cluster time: the first signal, or report
    evidence: tuple[str, ...]
    nodes: list[Trouble]


class BreakerFacts(msgspec.Struct, frozen=True):
    """Whether verdicts act."""

    tripped: bool
    since_us: int | None  # cluster time
    reason: str
    limit: int  # nodes that verdicts may take out together
    out: int  # nodes that were out when it tripped
    wanted: int  # nodes that it kept in


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentFilter:
    """Which incidents; "" means all."""

    flag: str = ""
    block: str = ""
    rack: str = ""
    domain: str = ""

    def takes(self, found: Trouble) -> bool:
        """Whether the node's trouble is of this kind."""
        flagged = not self.flag or any(report.flag == self.flag for report in found.reports)
        pairs = ((self.block, found.block), (self.rack, found.rack), (self.domain, found.domain))
        return flagged and all(wanted in ("", value) for wanted, value in pairs)


def incidents_from(state: ClusterState, chosen: IncidentFilter, after: str) -> Iterator[Incident]:
    """Open incidents by age, then nodes by themselves as they are drawn, from behind an incident or a node; raises UnknownSubject.

    The caller holds the state.
    """
    waiting = _waiting(state)
    if after not in state.nodes:
        if after and after not in state.incidents:
            raise UnknownSubject(f"there is no node and no open incident {after!r} in cluster {state.name}")
        for name, incident in sorted(state.incidents.items()):
            nodes = [_trouble(state, state.nodes[node], waiting) for node in incident.nodes if node in state.nodes]
            nodes = [found for found in nodes if chosen.takes(found)]
            if name > after and nodes:
                yield Incident(name, incident.cause, incident.since, incident.evidence, nodes)
    for found in _alone(state, waiting, after if after in state.nodes else ""):
        if chosen.takes(found):
            yield Incident("", found.reports[0].reason, found.since_us, found.reports[0].evidence, [found])


def breaker_get(state: ClusterState) -> BreakerFacts:
    """The breaker as it is now; the caller holds the state."""
    breaker = state.breaker
    if breaker is None:
        return BreakerFacts(False, None, "", breaker_limit(state), 0, 0)
    return BreakerFacts(True, breaker.since, breaker.reason, breaker.limit, breaker.out, breaker.wanted)


def _alone(state: ClusterState, waiting: Mapping[str, list[str]], after: str) -> Iterator[Trouble]:
    layout = layout_of(state)
    together = {node for incident in state.incidents.values() for node in incident.nodes}
    first = layout.draw[state.topology.index[after]] + 1 if after else 0
    for name in layout.nodes[first:]:
        node = state.nodes[name]
        if name not in together and any(mark.on and flag in FLAGS for (flag, _), mark in node.marks.items()):
            yield _trouble(state, node, waiting)


def _waiting(state: ClusterState) -> Mapping[str, list[str]]:
    """Lost node -> jobs that have nothing in its place yet."""
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for job in sorted(state.lost):
        for part in state.jobs[job].slices:
            for node in part.lost.values():
                waiting[node].append(job)
    return waiting


def _trouble(state: ClusterState, node: Node, waiting: Mapping[str, list[str]]) -> Trouble:
    rack = state.racks.get(node.rack)
    reports = [
        Mark(flag.value, source, mark.since, mark.reason, mark.owner, mark.exit_rule, mark.evidence)
        for (flag, source), mark in sorted(node.marks.items())
        if mark.on and flag in FLAGS
    ]
    holders = [node.job] if node.job else sorted(node.shares)
    jobs = [(job, False) for job in holders] + [(job, True) for job in waiting.get(node.name, ())]
    return Trouble(
        node=node.name,
        rack=node.rack,
        block=rack.block if rack else "",
        domain=node.domain,
        condition=node.condition.value,
        since_us=min((report.since_us for report in reports), default=None),
        reports=reports,
        jobs=[Affected(job, state.jobs[job].request.name, lost) for job, lost in jobs],
    )

"""Nodes of one domain that fail together of what can be one cause: one incident, judged at the end of its window.

While an incident is open, more nodes of its domain that fail so join it. From a number of nodes on, or with a switch at fault, the racks of
the domain take no new work until all its nodes are in service again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clusters.domain.books import Condition
from clusters.domain.health import Flag
from clusters.domain.health_events import RackStateChanged
from clusters.domain.ids import MILLISECOND, Instant
from clusters.domain.incident_events import IncidentClosed, IncidentExtended, IncidentOpened
from clusters.domain.incidents import Incident
from clusters.domain.racks import SHUT, RackState
from clusters.domain.signals import Heard, SignalKind, SignalScope, standing
from clusters.domain.state import ClusterState
from scheduling.domain.verdicts.doubts import MOST_QUOTED, Doubt, flags_of, quote

#: Checks whose signals mean a switch, not a node.
SWITCH_CHECKS = ("nvswitch", "switch")


class Burst(NamedTuple):
    """Nodes of one domain with fatal signals that can share a cause."""

    domain: str
    nodes: tuple[str, ...]  # all of them, those that are failed already included
    fresh: tuple[str, ...]  # those that are not
    due: Instant  # the first signal and the window
    since: Instant  # the first signal
    signals: tuple[Heard, ...]
    incident: Incident | None  # the open one that they belong to

    @property
    def cause(self) -> str:
        """What most of the signals say."""
        codes = Counter(heard.code for heard in self.signals)
        return min(codes, key=lambda code: (-codes[code], code))


def bursts(state: ClusterState, doubts: Mapping[str, Mapping[Flag, Doubt]]) -> list[Burst]:
    """The domains in which such nodes have not been judged yet, of these doubts by node."""
    by_domain: dict[str, list[str]] = {}
    for name in sorted(doubts):
        domain = state.nodes[name].domain
        doubt = doubts[name].get(Flag.FAILED)
        if domain is not None and doubt is not None and doubt.shared:
            by_domain.setdefault(domain, []).append(name)
    opened = {incident.domain: incident for incident in state.incidents.values()}
    found: list[Burst] = []
    for domain, names in by_domain.items():
        firsts = {name: doubts[name][Flag.FAILED].since for name in names}
        fresh = tuple(name for name in names if Flag.FAILED not in flags_of(state.nodes[name]))
        if fresh:
            found.append(_burst(state, domain, firsts, fresh, opened.get(domain)))
    return found


def _burst(state: ClusterState, domain: str, firsts: Mapping[str, Instant], fresh: tuple[str, ...], incident: Incident | None) -> Burst:
    """The fresh nodes, and those that failed within the window before them."""
    window = state.policy.incident_window_ms * MILLISECOND
    earliest = min(firsts[name] for name in fresh) - window
    nodes = tuple(name for name in firsts if firsts[name] >= earliest)
    signals = [heard for name in nodes for heard in standing(state.nodes[name].signals) if _may_be_shared(heard)]
    signals.sort(key=lambda heard: (heard.at, heard.seq))
    since = min(firsts[name] for name in nodes)
    return Burst(domain, nodes, fresh, since + window, since, tuple(signals), incident)


def _may_be_shared(heard: Heard) -> bool:
    return heard.kind is SignalKind.FATAL and heard.scope is SignalScope.SHARED


def told(state: ClusterState, burst: Burst) -> Iterator[IncidentOpened | IncidentExtended]:
    """The incident, where the burst is one or joins one."""
    evidence = tuple(map(quote, burst.signals[:MOST_QUOTED]))
    if burst.incident is not None:
        yield IncidentExtended(incident=burst.incident.id, nodes=burst.fresh, evidence=())
    elif len(burst.nodes) >= state.policy.incident_nodes or _is_switch(burst):
        yield IncidentOpened(domain=burst.domain, nodes=burst.nodes, cause=burst.cause, since=burst.since, evidence=evidence)


def racks_out(state: ClusterState, burst: Burst) -> Iterator[RackStateChanged]:
    """The racks of the domain, where the incident is large or a switch is at fault: they take no new work."""
    nodes = set(burst.nodes) | set(burst.incident.nodes if burst.incident else ())
    if len(nodes) < state.policy.incident_rack_nodes and not _is_switch(burst):
        return
    reason = f"incident: {len(nodes)} nodes of {burst.domain} failed together ({burst.cause})"
    for rack in _racks_of(state, burst.domain):
        if state.racks[rack].service.state not in SHUT:
            yield RackStateChanged(rack=rack, state=RackState.DRAINING, reason=reason, by=by_incident(burst.domain))


def by_incident(domain: str) -> str:
    """Who has a rack so because of an incident of the domain."""
    return f"incident of {domain}"


def _racks_of(state: ClusterState, domain: str) -> list[str]:
    return sorted({node.rack for node in state.nodes.values() if node.domain == domain and node.rack in state.racks})


def _is_switch(burst: Burst) -> bool:
    return any(heard.check.startswith(SWITCH_CHECKS) for heard in burst.signals)


def over(state: ClusterState) -> Iterator[IncidentClosed | RackStateChanged]:
    """Incidents whose nodes are all in service again, or gone; the racks that they closed open with them."""
    for name, incident in sorted(state.incidents.items()):
        nodes = [state.nodes[node] for node in incident.nodes if node in state.nodes]
        if all(node.in_service or node.condition is Condition.ABSENT for node in nodes):
            yield IncidentClosed(incident=name, reason="all its nodes are in service again")
            for rack in _racks_of(state, incident.domain):
                if state.racks[rack].service.by == by_incident(incident.domain):
                    yield RackStateChanged(rack=rack, state=RackState.OPEN, reason=f"incident {name} is over", by=name)

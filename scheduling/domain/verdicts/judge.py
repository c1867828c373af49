"""Verdicts as events: what the evidence speaks for is said of the nodes, and taken back when it no longer does.

A pass judges before it does anything else, and then looks again: recovery sees what the verdicts made of the nodes. Only nodes with
evidence, or with a flag that a verdict has set, are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusters.domain import health_events as ev
from clusters.domain.events import Payload
from clusters.domain.health import SCHEDULER, Flag
from clusters.domain.ids import Instant
from clusters.domain.signals import SignalKind
from clusters.domain.state import ClusterState, Node
from scheduling.domain.rack_states import emptied
from scheduling.domain.verdicts.breaker import COUNTED, trip
from scheduling.domain.verdicts.checks import checks_due
from scheduling.domain.verdicts.doubts import OUT_OF_REACH, Doubt, doubts_of, expiries, flags_of, last_bad, quiet_from
from scheduling.domain.verdicts.flapping import OWNER, flapping
from scheduling.domain.verdicts.incidents import bursts, over, racks_out, told

Doubts = Mapping[str, Mapping[Flag, Doubt]]


def judge(state: ClusterState, now: Instant) -> list[Payload]:
    """What is to be said of nodes, incidents and the breaker at this moment."""
    if not (state.watched or state.incidents or state.closed_racks or state.unasked):
        return []
    doubts = {name: doubts_of(state.nodes[name], state.policy, now) for name in sorted(state.watched) if name in state.nodes}
    groups = bursts(state, doubts)
    joint = {name for burst in groups for name in burst.fresh}
    due = [burst for burst in groups if now >= burst.due or burst.incident is not None]
    wanted = {
        name: [doubt for doubt in found.values() if doubt.due <= now and not (doubt.shared and name in joint)]
        for name, found in doubts.items()
    }
    for burst in due:
        for name in burst.fresh:
            wanted[name].append(doubts[name][Flag.FAILED])
    new = {name: fresh for name, found in wanted.items() if (fresh := _unsaid(state.nodes[name], found))}
    tripped = _breaker(state, new)
    if state.breaker is not None or tripped:
        new = {name: kept for name, found in new.items() if (kept := [doubt for doubt in found if doubt.flag not in COUNTED])}
        due = []
    incidents = [event for burst in due for event in [*told(state, burst), *racks_out(state, burst)]]
    said = [*tripped, *incidents, *_verdicts(state, new, now), *_recoveries(state, doubts, now)]
    return [*said, *over(state), *emptied(state), *checks_due(state)]


def verdict_deadlines(state: ClusterState, now: Instant) -> Iterator[Instant]:
    """When verdicts fall due though no signal comes: the end of windows, limits and quiet times."""
    for name in state.watched:
        node = state.nodes.get(name)
        if node is None:
            continue
        found, flags = doubts_of(node, state.policy, now), flags_of(node)
        yield from (doubt.due for flag, doubt in found.items() if flag not in flags)
        if Flag.SUSPECT in flags:
            yield from expiries(node, state.policy)
        if last_bad(node) is not None and any(_is_over(node, flag, found) for flag in flags):
            yield quiet_from(node, state.policy)


def _unsaid(node: Node, found: list[Doubt]) -> list[Doubt]:
    flags = flags_of(node)
    return [doubt for doubt in found if doubt.flag not in flags]


def _breaker(state: ClusterState, new: Mapping[str, list[Doubt]]) -> list[Payload]:
    """Nodes whose evidence a person has seen before the last reset do not count again."""
    if state.breaker is not None:
        return []
    reset = state.breaker_reset_at
    counted = [
        name
        for name, found in new.items()
        if any(doubt.flag in COUNTED and (reset is None or doubt.since > reset) for doubt in found)
        and not flags_of(state.nodes[name]) & COUNTED
    ]
    tripped = trip(state, counted)
    return [tripped] if tripped is not None else []


def _verdicts(state: ClusterState, new: Mapping[str, list[Doubt]], now: Instant) -> Iterator[Payload]:
    for name, found in new.items():
        node = state.nodes[name]
        out = bool(flags_of(node) & COUNTED)
        for doubt in sorted(found, key=lambda doubt: doubt.flag):
            yield _verdict(name, doubt)
            if doubt.flag in (Flag.FAILED, Flag.SUSPECT) and not out:
                out = True
                quarantine = flapping(node, state.policy, now)
                if quarantine is not None:
                    yield quarantine


def _verdict(name: str, doubt: Doubt) -> Payload:
    match doubt.flag:
        case Flag.FAILED:
            return ev.NodeFailed(node=name, reason=doubt.reason, fencing=doubt.fencing, evidence=doubt.evidence)
        case Flag.SUSPECT:
            return ev.NodeSuspected(node=name, reason=doubt.reason, evidence=doubt.evidence)
        case Flag.UNREACHABLE:
            return ev.NodeUnreachable(node=name, reason=doubt.reason)
        case Flag.QUARANTINED:
            rule = "who quarantined it takes it back"
            return ev.NodeQuarantined(node=name, owner=doubt.evidence[0].split(":")[0], reason=doubt.reason, exit_rule=rule)
        case Flag.DRAINING:
            return ev.NodeDraining(node=name, reason=doubt.reason)
        case _:
            return ev.NodeDegraded(node=name, reason=doubt.reason)


def _recoveries(state: ClusterState, doubts: Doubts, now: Instant) -> Iterator[Payload]:
    for name, found in doubts.items():
        node = state.nodes[name]
        gone = sorted(flag for flag in flags_of(node) if _is_over(node, flag, found))
        if gone and now >= quiet_from(node, state.policy):
            bad = last_bad(node)
            reason = "nothing speaks against it" if bad is None else f"quiet for {state.policy.recovery_quiet_s} s"
            yield ev.NodeRecovered(node=name, reason=reason, flags=tuple(gone))


def _is_over(node: Node, flag: Flag, found: Mapping[Flag, Doubt]) -> bool:
    """Whether nothing speaks for the flag any more. Flapping ends by a person's word; a failure by word that it is over, never by
    forgetting what spoke for it."""
    mark = node.marks[flag, SCHEDULER]
    if flag in found or (flag is Flag.QUARANTINED and mark.owner == OWNER):
        return False
    if flag is Flag.FAILED and not mark.reason.startswith(OUT_OF_REACH):
        return any(heard.kind is SignalKind.RECOVERED and heard.at >= mark.since for heard in node.signals)
    return True

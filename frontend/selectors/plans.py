"""Plans that make room: those that wait or run are in the state, those that have ended are in the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from clusters.domain.defrag import ActivePlan, Plan, PlanMove, PlanStatus, Rival, RoomRequest
from clusters.domain.defrag_events import (
    DefragAborted,
    DefragApproved,
    DefragFinished,
    DefragPlanned,
    DefragRejected,
    DefragStepDone,
)
from clusters.domain.errors import UnknownSubject
from clusters.domain.events import Event
from clusters.domain.ids import plan_id
from clusters.domain.state import ClusterState
from clusters.eventlog.models import LogEvent
from clusters.eventlog.store import default_log
from scheduling.domain.defrag.words import certificate


class MoveFacts(msgspec.Struct, frozen=True):
    """One victim."""

    job: str
    slice: int
    domain: str  # that it leaves
    nodes: tuple[str, ...]  # that it leaves
    to_domain: str | None  # None: the whole job waits
    to_nodes: tuple[str, ...]
    cost_gpu_s: int  # weighted by priority: work lost since the last checkpoint, and the restart
    lost_gpu_s: int  # the same unweighted
    begun: bool  # it has been told to leave
    done: bool


class RivalFacts(msgspec.Struct, frozen=True):
    """Another way that was looked at, and why it lost."""

    domains: tuple[str, ...]
    cost_gpu_s: int | None  # None where it cannot be done
    reason: str


class RoomPlan(msgspec.Struct, frozen=True):
    """One plan."""

    id: str  # "" for one that was only computed
    status: str
    aim: str
    job: str  # that it makes room for; "" for whole domains
    reason: str  # what called for it
    domains: tuple[str, ...]  # that are freed
    nodes: tuple[str, ...]  # that are kept for the job, or free in the end
    moves: list[MoveFacts]  # in order
    cost_gpu_s: int  # weighted, of all moves
    bound_gpu_s: int  # no plan costs less
    optimal: bool
    slice_only_gpu_s: int | None  # the same without the spares of the job's domains, where that is cheaper
    certificate: str  # how good it is, in words
    rivals: list[RivalFacts]  # the runner-up first
    solver: str
    search_s: float
    at_seq: int  # the state it was made on
    proposed_at_us: int  # cluster time, as all of these
    by: str  # who approved or rejected it; "policy" in auto mode
    approved_at_us: int | None
    ended_at_us: int | None
    outcome: str  # why it ended


class RoomFacts(msgspec.Struct, frozen=True):
    """Somebody wants whole domains, and there is no plan yet."""

    domains: int
    by: str
    reason: str
    at_us: int | None  # when they are to be free; None = as soon as can be
    asked_at_us: int


def open_plans(state: ClusterState) -> list[RoomPlan]:
    """Plans that wait or run, the newest first; the caller holds the state."""
    return [_of_state(known) for _, known in sorted(state.defrag.items(), reverse=True)]


def room_wanted(state: ClusterState) -> RoomFacts | None:
    """The whole domains that are wanted; the caller holds the state."""
    room: RoomRequest | None = state.room
    return None if room is None else RoomFacts(room.domains, room.by, room.reason, room.at, room.asked_at)


def past_plans(cluster: str, before: int, skip: Iterable[str] = ()) -> Iterator[RoomPlan]:
    """Plans that have ended, the newest first, made before a position of the log."""
    left = set(skip)
    for seq in _positions(cluster, before):
        if plan_id(seq) not in left:
            yield plan_of_log(plan_events(cluster, plan_id(seq)))


def plan_events(cluster: str, name: str) -> list[Event]:
    """The events of a plan, its proposal first; raises UnknownCluster, UnknownSubject."""
    events = list(default_log().about(cluster, name))
    if not events or not isinstance(events[0].payload, DefragPlanned):
        raise UnknownSubject(f"there is no plan {name!r} in cluster {cluster}")
    return events


def plan_of_log(events: Sequence[Event]) -> RoomPlan:
    """The plan as its events tell it."""
    first = events[0]
    proposed = first.payload
    if not isinstance(proposed, DefragPlanned):
        raise UnknownSubject(f"{first.subject!r} is no plan")
    status, by, approved, ended, outcome, steps = PlanStatus.PROPOSED, "", None, None, "", set[int]()
    for event in events[1:]:
        match event.payload:
            case DefragApproved(by=who):
                status, by, approved = PlanStatus.RUNNING, who, event.occurred_at
            case DefragRejected(by=who, reason=why):
                status, by, ended, outcome = PlanStatus.REJECTED, who, event.occurred_at, why
            case DefragStepDone(step=step):
                steps.add(step)
            case DefragFinished(reason=why):
                status, ended, outcome = PlanStatus.FINISHED, event.occurred_at, why
            case DefragAborted(status=how, reason=why):
                status, ended, outcome = how, event.occurred_at, why
    facts = plan_facts(proposed.proposal, proposed.reason, begun=steps, ended=steps)
    return msgspec.structs.replace(
        facts,
        id=first.subject,
        status=status.value,
        proposed_at_us=first.occurred_at,
        by=by,
        approved_at_us=approved,
        ended_at_us=ended,
        outcome=outcome,
    )


def plan_get(state: ClusterState, events: Sequence[Event]) -> RoomPlan:
    """The plan of these events, as far as it is; the caller holds the state."""
    known = state.defrag.get(events[0].subject)
    return plan_of_log(events) if known is None else _of_state(known)


def plan_facts(plan: Plan, reason: str, begun: Iterable[int] = (), ended: Iterable[int] = ()) -> RoomPlan:
    """A plan that nobody has proposed."""
    under_way, done = set(begun), set(ended)
    return RoomPlan(
        id="",
        status=PlanStatus.PROPOSED.value,
        aim=plan.aim.value,
        job=plan.job,
        reason=reason,
        domains=plan.domains,
        nodes=plan.nodes,
        moves=[_move(move, step in under_way, step in done) for step, move in enumerate(plan.moves)],
        cost_gpu_s=plan.cost,
        bound_gpu_s=plan.bound,
        optimal=plan.optimal,
        slice_only_gpu_s=plan.slice_only if plan.slice_only is not None and plan.slice_only < plan.cost else None,
        certificate=certificate(plan),
        rivals=[_rival(rival) for rival in plan.rivals],
        solver=plan.solver,
        search_s=plan.seconds,
        at_seq=plan.at_seq,
        proposed_at_us=plan.at,
        by="",
        approved_at_us=None,
        ended_at_us=None,
        outcome="",
    )


def _of_state(known: ActivePlan) -> RoomPlan:
    return msgspec.structs.replace(
        plan_facts(known.plan, known.reason, known.begun, known.ended),
        id=known.id,
        status=known.status.value,
        proposed_at_us=known.proposed_at,
        by=known.by,
        approved_at_us=known.approved_at,
    )


def _move(move: PlanMove, begun: bool, done: bool) -> MoveFacts:
    to = move.to
    return MoveFacts(
        job=move.job,
        slice=move.slice,
        domain=move.domain,
        nodes=move.nodes,
        to_domain=to.domain if to is not None else None,
        to_nodes=to.nodes if to is not None else (),
        cost_gpu_s=move.cost,
        lost_gpu_s=move.lost,
        begun=begun or done,
        done=done,
    )


def _rival(rival: Rival) -> RivalFacts:
    return RivalFacts(rival.domains, rival.cost, rival.reason)


def _positions(cluster: str, before: int) -> Iterator[int]:
    """Positions of proposals, the newest first. The bounds of the subject let the index serve, whatever the order of letters is."""
    rows = LogEvent.objects.filter(cluster__name=cluster, kind=DefragPlanned.__name__, subject__gte="p0", subject__lt="pa", seq__lt=before)
    yield from rows.order_by("-seq").values_list("seq", flat=True).iterator()

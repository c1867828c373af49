"""Reservations: nodes kept for the first jobs that wait, so that what starts meanwhile does not keep them waiting for longer.

A job that cannot be placed in its turn gets the nodes on which it can start at the earliest, by the planned ends of the work that runs (see
`forecast`), and the time of that start. Jobs behind it may use those nodes until then: by their time limits, or because they can be made to
give way when the time comes. The reservation stands for as long as it can be kept. It is made anew when it cannot (a node failed, a swap
took one, work is over its time), and when the job is among the first and could start a good deal sooner. Under the policy `off` nothing is
kept but claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.ids import MINUTE, Instant
from clusters.domain.reservations import Reservation, is_claim
from clusters.domain.setting import Backfill
from clusters.domain.space import Space
from clusters.domain.space_events import ReservationExpired, SpaceFreed, SpaceReserved
from clusters.domain.state import Job, Node
from scheduling.domain.equals import equals_before, hand_down
from scheduling.domain.forecast import NEVER, Outlook, earliest_start, give, over
from scheduling.domain.limits import LAUNCH, STOP, ends_by, planned_end, run_time
from scheduling.domain.placement import Placement, place_shape
from scheduling.domain.preemption import evict, may_be_preempted
from scheduling.domain.refusals import INFEASIBLE
from scheduling.domain.shape import shape_of
from scheduling.domain.trial import Trial
from scheduling.domain.views import masks_of, points_of, shut

#: The most jobs that nodes are kept for at once, under conservative backfill.
MOST = 64

#: A start that is sooner by less is not worth another reservation; neither is one by less than a part of the wait.
LEAST_GAIN = MINUTE
GAIN_PART = 10


def reserve_for(trial: Trial, job: Job, refusal: Refusal) -> Iterator[Payload]:
    """What the refusal of this job, in its turn of the queue, changes in what is kept for it."""
    kept = trial.kept.get(job.id)
    if is_claim(kept):
        trial.pass_by(job.id)
        return
    if trial.policy.backfill is Backfill.OFF or refusal.code == INFEASIBLE:
        return
    if kept is not None and _stands(trial, kept, job):
        better = _sooner(trial, job, kept) if len(trial.passed) < trial.policy.reservation_depth else None
        trial.pass_by(job.id)
        if better is None:
            return
        found: Outlook | None = better
    else:
        most = trial.policy.reservation_depth if trial.policy.backfill is Backfill.EASY else MOST
        found = _anew(trial, job, kept) if len(trial.passed) < most else None
    yield from _change(trial, job, found)


def _anew(trial: Trial, job: Job, kept: Reservation | None) -> Outlook | None:
    """The first start that respects all promises; where the job was promised an earlier one, it goes before those behind it."""
    if kept is None:
        return earliest_start(trial, job)
    return earliest_start(trial, job, kept.starts_at + 1) or earliest_start(trial, job, behind=False)


def _change(trial: Trial, job: Job, found: Outlook | None) -> Iterator[Payload]:
    kept = trial.kept.get(job.id)
    if found is not None and kept is not None and (found.nodes, found.starts_at) == (kept.nodes, kept.starts_at):
        trial.pass_by(job.id)  # it is the best there is, and told already: a pass that told it again would call for another one
    elif found is not None:
        reserved = SpaceReserved(job=job.id, nodes=found.nodes, starts_at=found.starts_at, reason=_reason(trial, found))
        stands = kept is not None and found.starts_at < kept.starts_at
        before = equals_before(trial, job, found.starts_at + 1, kept.starts_at if kept is not None and stands else NEVER)
        yield from hand_down(trial, [*before, job.id], reserved)
    elif job.id in trial.kept:
        trial.give_up(job.id)
        yield SpaceFreed(job=job.id, reason="it cannot be said any more when the job could start")


def _reason(trial: Trial, found: Outlook) -> str:
    if found.starts_at == trial.now:
        return "starts before the jobs behind it"
    if found.last in trial.kept:
        return f"starts after job {found.last}, which waits before it"
    return f"starts once job {found.last} has ended" if found.last else "starts once work that starts now has ended"


# ---- whether it can be kept


def _stands(trial: Trial, kept: Reservation, job: Job) -> bool:
    """Whether the job can start on these nodes at that time, as far as is known now."""
    return _nodes_are_sound(trial, kept) and _holders_leave(trial, kept, job) and _nobody_else_is_promised(trial, kept, job)


def _nodes_are_sound(trial: Trial, kept: Reservation) -> bool:
    """Whether the nodes may take work, and this decision has not given one to a job that runs."""
    nodes, placed = trial.state.nodes, _placed_now(trial)
    for name in kept.nodes:
        node = nodes.get(name)
        if node is None or not node.placeable or name not in trial.topology.index:
            return False
        domain, bit = trial.space.locate(trial.topology.index[name])
        if trial.space.used[domain] & bit and not (_held_by(trial, node) or name in placed):
            return False
    return all(placed.get(name, kept.starts_at) <= kept.starts_at for name in kept.nodes)


def _placed_now(trial: Trial) -> dict[str, Instant]:
    """Nodes that this decision has given to jobs from the queue, and the planned ends of those."""
    return {
        name: trial.now + LAUNCH + run_time(request, trial.policy) + STOP
        for request, placement in trial.taken
        for assignment in placement
        for name in assignment.nodes
    }


def _holders_leave(trial: Trial, kept: Reservation, job: Job) -> bool:
    """Whether those who have the nodes will have left in time; once the time has come, whether somebody is leaving still."""
    holders = _holders(trial, kept)
    if kept.starts_at <= trial.now:
        return bool(holders) and all(_is_leaving(trial, holder) for holder in holders)
    return all(
        _is_leaving(trial, holder) or planned_end(holder, trial.policy, trial.now) <= kept.starts_at or _gives_way(trial, holder, kept, job)
        for holder in holders
    )


def _nobody_else_is_promised(trial: Trial, kept: Reservation, job: Job) -> bool:
    """Whether nothing that binds the job closes these nodes while it would run."""
    masks = masks_of(trial.space, kept.nodes)
    done = kept.starts_at + run_time(job.request, trial.policy) + STOP
    for closure in trial.views.closures(trial.views.closed_for_good(job)):
        meets = done > closure.until and kept.starts_at < over(trial, closure)
        if meets and any(masks.get(domain, 0) & mask for domain, mask in closure.masks.items()):
            return False
    return True


def _holders(trial: Trial, kept: Reservation) -> list[Job]:
    nodes = (trial.state.nodes[name] for name in kept.nodes if name in trial.state.nodes)  # one may be gone by now
    names = sorted({name for node in nodes for name in _held_by(trial, node)})
    return [trial.state.jobs[name] for name in names]


def _held_by(trial: Trial, node: Node) -> set[str]:
    return ({node.job} if node.job else set(node.shares)) - trial.left


def _is_leaving(trial: Trial, holder: Job) -> bool:
    return holder.holders_stop or holder.id in trial.stopping


def _gives_way(trial: Trial, holder: Job, kept: Reservation, job: Job) -> bool:
    """Whether the holder was placed on the promise that it would end in time, or could be made to."""
    if holder.placed_seq <= kept.since or ends_by(holder.request, 0) is None or not may_be_preempted(trial.policy, holder):
        return False
    return points_of(trial.policy, holder.request, holder) <= points_of(trial.policy, job.request, job)


def _sooner(trial: Trial, job: Job, kept: Reservation) -> Outlook | None:
    """A start that is worth another reservation."""
    gain = max(LEAST_GAIN, (kept.starts_at - trial.now) // GAIN_PART)
    before = kept.starts_at - gain
    return earliest_start(trial, job, before) if before > trial.now else None


# ---- when the time has come


def place_where_promised(trial: Trial, space: Space, job: Job, kept: Reservation) -> Placement | Refusal:
    """Where the job would run in its view of the space: on the nodes kept for it at worst, which are nobody's spares.

    What came to their domains since may owe more spares than there were to be when the job was promised its nodes.
    """
    outcome, shape = trial.place_in(space, job.request), shape_of(trial.topology, job.request, trial.policy)
    if not isinstance(outcome, Refusal) or isinstance(shape, Refusal):
        return outcome
    masks = masks_of(space, kept.nodes)
    if any((space.free[domain] & ~mask).bit_count() < shape.floor for domain, mask in masks.items()):
        return outcome
    alone = space.fork()
    shut(alone, {domain: (1 << group.size) - 1 & ~masks.get(domain, 0) for domain, group in enumerate(trial.topology.domains)})
    for domain in masks:
        for want in alone.wants[domain]:
            alone.drop_want(domain, want)
    on_them = place_shape(alone, replace(shape, spares=0, floor=0), replace(trial.policy, target_spares=0, min_spares=0))
    return outcome if isinstance(on_them, Refusal) else on_them


def make_way(trial: Trial) -> Iterator[list[Payload]]:
    """Where a job is about to start on the nodes kept for it, work that was placed there on that condition gives way.

    Nothing is sent away unless the job provably starts once it has left.
    """
    for name in sorted(trial.kept):
        kept = trial.kept[name]
        if is_claim(kept) or not kept.starts_at - STOP <= trial.now:
            continue
        job = trial.state.jobs[name]
        for holder in _to_send_away(trial, kept, job):
            trial.stopping.add(holder.id)
            yield evict(trial.state, holder, job, f"its time is over, and job {name} was promised its nodes")


def _to_send_away(trial: Trial, kept: Reservation, job: Job) -> list[Job]:
    """Those on the job's nodes who do not leave by themselves; none where one of them may stay, or where it would not help."""
    staying = [holder for holder in _holders(trial, kept) if not _leaves(trial, holder, kept)]
    mended = any(holder.id in trial.state.lost for holder in staying)  # it may have got other nodes earlier in this decision
    if not staying or mended or not all(_gives_way(trial, holder, kept, job) for holder in staying):
        return []
    space = trial.views.space(trial.views.closed_to(job.request, job)).fork()
    if not isinstance(place_where_promised(trial, space, job, kept), Refusal):
        return []
    for holder in _holders(trial, kept):
        give(space, trial.ends.of(holder))
    return [] if isinstance(place_where_promised(trial, space, job, kept), Refusal) else staying


def _leaves(trial: Trial, holder: Job, kept: Reservation) -> bool:
    """Whether the holder leaves in time by itself: it stops already, or its limit sees to it."""
    if _is_leaving(trial, holder):
        return True
    return holder.request.time_limit_s is not None and planned_end(holder, trial.policy, trial.now) <= max(kept.starts_at, trial.now)


# ---- the end


def expire(trial: Trial) -> Iterator[list[Payload]]:
    """Claims whose time is over; and everything else, where the policy keeps nothing any more."""
    for name, kept in sorted(trial.kept.items()):
        if kept.expires_at is not None and kept.expires_at <= trial.now:
            trial.give_up(name)
            yield [ReservationExpired(job=name, reason="the job could not start in time")]
        elif kept.expires_at is None and trial.policy.backfill is Backfill.OFF:
            trial.give_up(name)
            yield [SpaceFreed(job=name, reason="the policy keeps no nodes for jobs that wait")]


def free_unreached(trial: Trial, placed: set[str]) -> Iterator[Payload]:
    """At the end of a pass: nodes kept for jobs whose turn does not come, as their team may have no more, are anybody's again."""
    for name in sorted(trial.kept.keys() - trial.passed.keys() - placed):
        if not is_claim(trial.kept[name]):
            trial.give_up(name)
            yield SpaceFreed(job=name, reason="it is not the job's turn any more")

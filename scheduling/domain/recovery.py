"""In-place recovery: each lost slot gets a spare of its domain; a slice whose domain has too few moves whole; the rest of the job holds.

A slice that finds no place is stalled and tried again by every pass, before anything that waits: a repaired node goes first to a short
slice. Only placeable nodes are chosen, so nothing returns to a node that failed; where work stopped and the node is said to be well, the
node is used again only for want of others. A job on one node has nothing to hold together: it takes no spare owed to others. A job of which
too many nodes were replaced of late gets none for a time, see `recovery_budget`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.exclusive import closed_by
from clusters.domain.health import CONDITION_OF
from clusters.domain.job_events import AfterStop, NodeSwapped, SliceAssignment, SliceMoved, SliceStalled, StopRequested
from clusters.domain.jobs import JobState
from clusters.domain.state import ClusterState, Job, Slice
from clusters.domain.topology import Topology
from scheduling.domain.giving_in import give_in
from scheduling.domain.inner import group_around
from scheduling.domain.lending import reclaim_spares
from scheduling.domain.nodes import bits, choose_nodes
from scheduling.domain.placement import Placement, place_shape
from scheduling.domain.recovery_budget import budget_spent, is_told
from scheduling.domain.shape import inner_level, slice_shape
from scheduling.domain.single import EVERYWHERE
from scheduling.domain.stopping import stop_work
from scheduling.domain.tethers import tether
from scheduling.domain.trial import Trial


class Recovered(NamedTuple):
    """What a job with lost slots gets."""

    events: list[Payload]
    lacks: tuple[int, Refusal] | None  # the first slice that has no place still, and why; None where all have, or the job starts anew


def recover(trial: Trial) -> Iterator[list[Payload]]:
    """What each job with lost slots gets, the most urgent job first."""
    return (found.events for _, found in recovered(trial))


def recovered(trial: Trial) -> Iterator[tuple[Job, Recovered]]:
    """The same, with the job and what it lacks still."""
    for job in _in_order(trial, trial.state.lost):
        yield job, recover_job(trial, job)


def recover_short(trial: Trial) -> None:
    """In a what-if: those that got nothing in this decision take what they can of what is free by now."""
    for job in _in_order(trial, trial.short):
        recover_job(trial, job)


def _in_order(trial: Trial, names: set[str]) -> Iterator[Job]:
    """Those that are to go on: one may have been stopped for another that came before it."""
    jobs = sorted((trial.state.jobs[name] for name in names), key=lambda job: (-job.priority, job.seq))
    return (job for job in jobs if job.id not in trial.stopping)


def recover_job(trial: Trial, job: Job) -> Recovered:
    """What one job gets for its lost slots, taken in the trial."""
    events: list[Payload] = []
    generation = job.generation
    stalled: tuple[int, Refusal] | None = None
    domains = [part.domain for part in job.slices]
    for number, part in enumerate(job.slices):
        if not part.lost:
            continue
        if spent := budget_spent(job, trial.policy, trial.now, events):
            stalled = stalled or (number, spent)
            continue
        there = _in_place(trial, job, number, generation)
        if there is not None:
            events += there
            generation += sum(isinstance(event, NodeSwapped) for event in there)
            continue
        outcome = _place_elsewhere(trial, job, number)
        if isinstance(outcome, Refusal):
            stalled = stalled or (number, outcome)
            continue
        generation += 1
        domains[number] = outcome[0].domain
        events += _elsewhere(trial, job, generation, (number, outcome), domains)
    if stalled and (spent := budget_spent(job, trial.policy, trial.now, events)):
        stalled = (stalled[0], spent)
    elif stalled and not events:
        return _give_in_or_hold(trial, job, stalled)
    return Recovered(events + _stalled(trial, job, generation, stalled), stalled)


def _in_place(trial: Trial, job: Job, number: int, generation: int) -> list[Payload] | None:
    """The swaps that make the slice whole in its domain, or what takes back spares that were lent; None where that does not do."""
    part = job.slices[number]
    spares = _spares_for(trial, job, part)
    if not spares:
        return reclaim_spares(trial, job, part, reach(trial.topology, job, part))
    pairs = zip(sorted(part.lost.items()), spares, strict=True)
    return [_swapped(trial.state, job, generation + n, (number, slot), (old, new)) for n, ((slot, old), new) in enumerate(pairs, 1)]


def _elsewhere(trial: Trial, job: Job, generation: int, place: tuple[int, Placement], domains: list[str]) -> list[Payload]:
    """The slice has moved whole; `domains` are those of all the job's slices by now."""
    number, placement = place
    part = job.slices[number]
    retake(trial, job, part, placement)
    if job.request.exclusive:
        _close(trial, job, part.domain, domains)
    lost = "; ".join(_cause(trial.state, name) for _, name in sorted(part.lost.items()))
    return moved(trial.state, job, generation, (number, placement[0]), lost)


def _give_in_or_hold(trial: Trial, job: Job, stalled: tuple[int, Refusal]) -> Recovered:
    """The job got nothing: it starts anew, or lacks nodes on."""
    if anew := give_in(trial, job):
        return Recovered(anew, None)
    trial.short.add(job.id)
    return Recovered(_stalled(trial, job, job.generation, stalled), stalled)


def _spares_for(trial: Trial, job: Job, part: Slice) -> list[str]:
    """Free nodes of the slice's domain for all its lost slots, taken; none where they do not suffice for all."""
    domain = trial.topology.domain_index.get(part.domain)
    if domain is None or part.gpus:  # other GPUs of another node make another slice
        return []
    kept = trial.space.owed(domain, trial.policy) if job.width == 1 else 0
    within = reach(trial.topology, job, part)
    if (trial.space.free[domain] & within).bit_count() - kept < len(part.lost):
        return []
    first = trial.topology.domains[domain].first
    lost = sum(1 << trial.topology.index[name] - first for name in _still_there(trial.topology, part, part.lost.values()))
    mask = choose_nodes(trial.space, domain, len(part.lost), kept, last=lost, within=within)
    trial.views.take_mask(domain, mask)
    return [trial.topology.nodes[first + bit].name for bit in bits(mask)]


def reach(topology: Topology, job: Job, part: Slice) -> int:
    """Mask of the nodes of the slice's domain that the job allows: all, unless it must lie in one group of a level inside the domain."""
    level = inner_level(topology, job.request)
    if not level:
        return -1
    name = next(_still_there(topology, part, (*part.nodes, *part.lost.values())), None)
    return 0 if name is None else group_around(topology, level, topology.index[name])


def _still_there(topology: Topology, part: Slice, names: Iterable[str | None]) -> Iterator[str]:
    """Those of the nodes that the slice's domain still has: one may be gone, or elsewhere, since the slice lost it."""
    domain = topology.domain_index[part.domain]
    known = (name for name in names if name is not None and name in topology.index)
    return (name for name in known if topology.domain_of[topology.index[name]] == domain)


def _place_elsewhere(trial: Trial, job: Job, number: int) -> Placement | Refusal:
    part = job.slices[number]
    shape = slice_shape(trial.topology, job.request, trial.policy, len(part.nodes))
    space = trial.views.space(trial.views.racks_closed_to(job.request))
    home = closed_by(trial.state, job, trial.topology)
    return place_shape(space, shape, trial.policy, _areas(trial.topology, job, number), trial.recent, home)


def _areas(topology: Topology, job: Job, number: int) -> tuple[int, ...]:
    """Where the slice may go, best first: beside the job's other slices, in their blocks, anywhere else that the job allows."""
    own = _mask(topology, job.slices[number].domain)
    if job.slices[number].gpus:
        return own, EVERYWHERE
    homes = blocks = 0
    for part in job.slices[:number] + job.slices[number + 1 :]:
        homes |= _mask(topology, part.domain)
        blocks |= _block_mask(topology, part.domain)
    allowed = tether(topology, job, number) & ~own
    return homes & allowed, blocks & allowed, allowed


def _mask(topology: Topology, domain: str) -> int:
    return 1 << topology.domain_index[domain] if domain in topology.domain_index else 0


def _block_mask(topology: Topology, domain: str) -> int:
    return topology.area("block", topology.block_of[topology.domain_index[domain]]) if domain in topology.domain_index else 0


def retake(trial: Trial, job: Job, part: Slice, placement: Placement) -> None:
    """The slice takes its new nodes; the old ones stay taken until their work has stopped."""
    old = trial.topology.domain_index.get(part.domain)
    if job.width > 1:
        if old is not None:
            trial.views.drop_want(old, job.request.spares)
        trial.views.add_want(trial.topology.domain_index[placement[0].domain], job.request.spares)
    trial.take_slice(placement[0])


def _close(trial: Trial, job: Job, left: str, domains: list[str]) -> None:
    """An exclusive job closes the domains that its slices are in by now, and opens the one it left, unless it still has work there."""
    index = trial.topology.domain_index
    if left in index and left not in domains and all(trial.state.nodes[name].domain != left for name in job.held_nodes):
        trial.views.open_domain(index[left])
    for domain in sorted(set(domains) & index.keys()):
        trial.views.close_domain(index[domain])


def _swapped(state: ClusterState, job: Job, generation: int, place: tuple[int, int], nodes: tuple[str, str]) -> NodeSwapped:
    return NodeSwapped(
        job=job.id,
        generation=generation,
        slice=place[0],
        slot=place[1],
        old=nodes[0],
        new=nodes[1],
        reason=_cause(state, nodes[0]),
    )


def moved(state: ClusterState, job: Job, generation: int, place: tuple[int, SliceAssignment], reason: str) -> list[Payload]:
    """The slice is elsewhere from now on; what it still has where it was is asked to stop."""
    number, assignment = place
    part = job.slices[number]
    released = tuple(name for name in part.nodes if name is not None)
    lost = tuple(old for _, old in sorted(part.lost.items()))
    event = SliceMoved(
        job=job.id,
        generation=generation,
        slice=number,
        old_domain=part.domain,
        assignment=assignment,
        released=released,
        lost=lost,
        reason=reason,
    )
    if not released:
        return [event]
    why = f"slice {number} moved to {assignment.domain}"
    stop = StopRequested(job=job.id, generation=generation, nodes=released, after=AfterStop.CONTINUES, reason=why)
    return [event, *stop_work(state, stop)]


def _stalled(trial: Trial, job: Job, generation: int, stalled: tuple[int, Refusal] | None) -> list[Payload]:
    """Told once, and again when the reason changes."""
    if stalled is None or (job.state is JobState.STALLED and is_told(job, stalled[1])):
        return []
    refusal = trial.reasons(stalled[1])
    return [SliceStalled(job=job.id, generation=generation, slice=stalled[0], code=refusal.code, counts=refusal.counts)]


def _cause(state: ClusterState, name: str) -> str:
    """Why the slot was lost, as far as the state knows."""
    node = state.nodes.get(name)
    if node is None:
        return f"{name} was removed"
    reasons = {flag: mark.reason for (flag, _), mark in sorted(node.marks.items(), key=itemgetter(0)) if mark.on}
    flag = next((flag for flag in CONDITION_OF if flag in reasons), None)
    if flag is None:
        return f"work on {name} stopped"
    return f"{name} is {node.condition.replace('_', ' ')}" + (f": {reasons[flag]}" if reasons[flag] else "")

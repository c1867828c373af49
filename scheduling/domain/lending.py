"""Lending spares: restartable work below a slice runs on nodes that a domain owes, until a swap needs them.

It gets them only where nothing else is free for it. When a slice of the domain has lost more nodes than are free, lent work is told to stop
at once, without being asked to save its progress; the slice waits for that, and takes the node as soon as the work has stopped on it. A
node has one owner at a time: nothing starts there before. No lent work is stopped unless the slice then has all that it lacks.
"""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.decision import Refusal
from clusters.domain.disruption import age_of_work
from clusters.domain.events import Payload
from clusters.domain.job_events import AfterStop, JobPreempted, StopRequested
from clusters.domain.jobs import ACTIVE, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.space import Space
from clusters.domain.space_events import SpareLent, SpareReclaimed
from clusters.domain.state import Job, Slice
from scheduling.domain.nodes import bits
from scheduling.domain.placement import Placement, place_shape
from scheduling.domain.shape import may_borrow, shape_of
from scheduling.domain.stopping import stop_work
from scheduling.domain.trial import Trial


def place_on_spares(trial: Trial, job: Job) -> tuple[Placement, SpareLent] | None:
    """Where the job would run if it may use what its domains owe, and what is lent to it there."""
    found = on_spares(trial, job.request, job)
    return (found[0], SpareLent(job=job.id, nodes=found[1])) if found else None


def on_spares(trial: Trial, request: JobRequest, job: Job | None = None) -> tuple[Placement, tuple[str, ...]] | None:
    """Where a request would run if it may use what the domains owe, and which of the nodes would be lent to it."""
    shape = shape_of(trial.topology, request, trial.policy)
    if not may_borrow(trial.policy, request) or isinstance(shape, Refusal) or not shape.small or shape.gpus:
        return None
    space = trial.views.space(trial.views.closed_to(request, job))
    placement = place_shape(space, replace(shape, small=False, spares=0), trial.policy, recent=trial.recent)
    if isinstance(placement, Refusal):
        return None
    nodes = _owed_nodes(space, trial.policy, placement)
    return (placement, nodes) if nodes else None


def _owed_nodes(space: Space, policy: Policy, placement: Placement) -> tuple[str, ...]:
    """Of the nodes in each domain the last ones, as many as it then lacks."""
    given: dict[str, list[str]] = {}
    for part in placement:
        given.setdefault(part.domain, []).extend(part.nodes)
    lent: list[str] = []
    for domain, names in given.items():
        index = space.topology.domain_index[domain]
        owed = space.owed(index, policy)
        lacks = owed - min(owed, space.count[index] - len(names))
        lent += sorted(names, key=space.topology.index.__getitem__)[len(names) - lacks :]
    return tuple(lent)


def reclaim_spares(trial: Trial, job: Job, part: Slice, within: int) -> list[Payload] | None:
    """What gets the slice the lent nodes that it needs: nothing where they are on their way; None where that would not do.

    `within` is a mask of the nodes of its domain that the job allows.
    """
    domain = trial.topology.domain_index.get(part.domain)
    if domain is None or part.gpus or job.width == 1 or not trial.state.lent:
        return None
    wanted = len(part.lost) + trial.promised.get(domain, 0) - (trial.space.free[domain] & within).bit_count()
    chosen: dict[str, int] = {}
    for borrower, nodes in _borrowers(trial, domain, within):
        if wanted > sum(chosen.values()):
            chosen[borrower.id] = nodes
    if wanted > sum(chosen.values()):
        return None
    trial.promised[domain] = trial.promised.get(domain, 0) + len(part.lost)
    events: list[Payload] = []
    for name in chosen:
        events += _give_back(trial, trial.state.jobs[name], job)
    return events


def _borrowers(trial: Trial, domain: int, within: int) -> list[tuple[Job, int]]:
    """Who has lent nodes there, and how many: those that stop already, then by the work that they lose."""
    group = trial.topology.domains[domain]
    counts: dict[str, int] = {}
    for bit in bits(trial.space.placeable[domain] & within & (1 << group.size) - 1):
        borrower = trial.state.lent.get(trial.topology.nodes[group.first + bit].name)
        if borrower is not None:
            counts[borrower] = counts.get(borrower, 0) + 1
    jobs = [(trial.state.jobs[name], nodes) for name, nodes in counts.items()]
    return sorted(jobs, key=lambda item: (not _stops(trial, item[0]), age_of_work(item[0], trial.now) * item[0].width, item[0].seq))


def _stops(trial: Trial, job: Job) -> bool:
    return job.holders_stop or job.id in trial.stopping


def _give_back(trial: Trial, borrower: Job, job: Job) -> list[Payload]:
    if _stops(trial, borrower) or borrower.state not in ACTIVE:
        return []
    trial.stopping.add(borrower.id)
    reason = f"job {job.id} needs the spares that were lent"
    nodes = tuple(sorted(name for name in borrower.held_nodes if trial.state.lent.get(name) == borrower.id))
    stop = StopRequested(
        job=borrower.id,
        generation=borrower.generation,
        nodes=tuple(sorted(borrower.held_nodes)),
        after=AfterStop.WAITING,
        reason=reason,
    )
    return [
        SpareReclaimed(job=borrower.id, nodes=nodes, by=job.id, reason=reason),
        JobPreempted(job=borrower.id, generation=borrower.generation, by=job.id, reason=reason),
        *stop_work(trial.state, stop),
    ]

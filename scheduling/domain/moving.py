"""Moving work: what may move, what must move together, and what it costs.

Only restartable work moves; interactive work never, unless the policy allows it. The price of a move is the GPU-time since the job's last
checkpoint, as the books would charge it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusters.domain.ids import Duration, Instant
from clusters.domain.jobs import ACTIVE, JobKind, Recovery
from clusters.domain.state import ClusterState, Job
from scheduling.domain.lost_work import rolled_back
from scheduling.domain.trial import Trial

#: A slice of a job: (job, number).
Work = tuple[Job, int]


def work_by_domain(state: ClusterState) -> dict[str, list[Work]]:
    """The slices of all jobs, by the domain they are in; the oldest jobs first."""
    found: dict[str, list[Work]] = {}
    for name in sorted(state.jobs):
        job = state.jobs[name]
        for number, part in enumerate(job.slices):
            found.setdefault(part.domain, []).append((job, number))
    return found


def movable_groups(state: ClusterState, domain: str, work: Sequence[Work]) -> Iterator[list[Work]]:
    """What must move together to free whole nodes: a slice, or all that share a node. Exclusive work stays: it would need a domain."""
    shared: dict[str, list[Work]] = {}
    for job, number in work:
        part = job.slices[number]
        if not part.gpus:
            if movable(state, job) and not job.request.exclusive:
                yield [(job, number)]
        elif part.nodes[0] is not None:
            shared.setdefault(part.nodes[0], []).append((job, number))
    for node, group in sorted(shared.items()):
        all_of_it = len(group) == len(state.nodes[node].shares)  # else some work there is ending, and nobody can move it
        if all_of_it and all(movable(state, job) and not job.request.exclusive for job, _ in group):
            yield group


def movable(state: ClusterState, job: Job) -> bool:
    """Whether the job may be stopped and started again, and holds still enough for it."""
    settled = job.state in ACTIVE and job.id not in state.lost and not job.leaving
    asked = job.request.restartable and (job.request.kind is not JobKind.INTERACTIVE or state.policy.interactive_preemptible)
    return settled and asked


def frees(state: ClusterState, group: Sequence[Work]) -> int:
    """Placeable nodes that are free once all of this has moved."""
    nodes = {name for job, number in group for name in job.slices[number].nodes if name is not None}
    return sum(state.nodes[name].placeable for name in nodes)


def names_of(group: Sequence[Work]) -> tuple[tuple[str, int], ...]:
    """What ends every tie."""
    return tuple((job.id, number) for job, number in group)


def price(state: ClusterState, group: Sequence[Work], now: Instant) -> Duration:
    """GPU-time done again if all of this moves. A job that goes back to its checkpoint does so once, however many of its slices move."""
    once = {job.id: (job, number) for job, number in group if job.request.recovery is Recovery.CHECKPOINT}
    each = [(job, number) for job, number in group if job.request.recovery is Recovery.PEER]
    return sum(rolled_back(state, job, number, now) for job, number in (*once.values(), *each))


def take_away(trial: Trial, domain: int, job: Job, number: int) -> None:
    """The slice leaves the domain (by index), which then owes no spares for it."""
    part, topology = job.slices[number], trial.topology
    trial.moved.add(job.id)
    names = [name for name in part.nodes if name is not None]
    if part.gpus:
        trial.space.give_gpus(topology.index[names[0]], sum(1 << gpu for gpu in part.gpus))
        return
    if job.width > 1:
        trial.space.drop_want(domain, job.request.spares)
    first = topology.domains[domain].first
    trial.space.give_mask(domain, sum(1 << topology.index[name] - first for name in names))

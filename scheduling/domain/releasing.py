"""What the space of a trial is like once a job has left it."""

from __future__ import annotations

from clusters.domain.dense import wanting_slices
from clusters.domain.exclusive import closed_by
from clusters.domain.ids import HOUR
from clusters.domain.state import Job
from scheduling.domain.trial import Trial

#: So long space is kept for the job that it was freed for: evicted work has stopped long before, or something is wrong.
CLAIM = HOUR


def release(trial: Trial, job: Job) -> None:
    """The space of the trial as it is once the job has left its nodes."""
    space, topology = trial.space, trial.topology
    for number in wanting_slices(job):
        domain = topology.domain_index.get(job.slices[number].domain)
        if domain is not None:
            space.drop_want(domain, job.request.spares)
    masks: dict[int, int] = {}
    for name in job.held_nodes:
        node = trial.state.nodes[name]
        index = topology.index[name]
        if node.job == job.id:
            domain, bit = space.locate(index)
            masks[domain] = masks.get(domain, 0) | bit
        else:
            space.give_gpus(index, node.shares[job.id])
    for domain, mask in masks.items():
        space.give_mask(domain, mask)
    space.closed &= ~closed_by(trial.state, job, topology)
    trial.forget_views()

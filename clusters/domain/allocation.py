"""Who holds which node: the only functions that take nodes for jobs and give them back."""

from __future__ import annotations

from clusters.domain.errors import BrokenInvariant
from clusters.domain.jobs import ACTIVE, TERMINAL
from clusters.domain.state import REMEMBERED_JOBS, ClusterState, Job, wanting_slices


def hold_node(state: ClusterState, job: Job, name: str, gpus: tuple[int, ...]) -> None:
    """Give a free node, or GPUs of it, to the job under its present generation."""
    node = state.nodes.get(name)
    if node is None or node.job or (node.shares and not gpus):
        owner = "unknown" if node is None else f"held by {node.job or ', '.join(node.shares)}"
        raise BrokenInvariant(f"job {job.id} was given node {name}, which is {owner}")
    space = state.space
    index = space.topology.index[name]
    if gpus:
        mask = sum(1 << gpu for gpu in gpus)
        if any(mask & taken for taken in node.shares.values()) or mask >> node.gpus:
            raise BrokenInvariant(f"job {job.id} was given GPUs {gpus} of node {name}, which are not all free")
        node.shares[job.id] = mask
        space.take_gpus(index, mask)
    else:
        node.job = job.id
        space.take(index)
    job.held_nodes[name] = job.generation
    job.unstarted.add(name)


def release_node(state: ClusterState, job: Job, name: str) -> None:
    """The job's work on the node has stopped for certain: the node is free of it, and a slot that still counted on it is lost."""
    node = state.nodes[name]
    space = state.built_space
    if node.job == job.id:
        node.job = ""
        if space is not None:
            space.give_back(space.topology.index[name])
    else:
        mask = node.shares.pop(job.id)
        if space is not None:
            space.give_gpus(space.topology.index[name], mask)
    del job.held_nodes[name]
    job.unstarted.discard(name)
    leaving = name in job.leaving
    job.leaving.discard(name)
    if job.state in ACTIVE and not leaving:
        _lose_slot(state, job, name)
    settle(state, job)


def settle(state: ClusterState, job: Job) -> None:
    """Forget an ended job once its work has stopped everywhere; note a stopping one that has."""
    if job.held_nodes:
        return
    if job.state in TERMINAL:
        del state.jobs[job.id]
        state.ended[job.id] = job.state
        if len(state.ended) > REMEMBERED_JOBS:
            del state.ended[next(iter(state.ended))]
    elif job.after is not None:
        state.stopped.add(job.id)


def want_spares(state: ClusterState, job: Job, *, wanted: bool) -> None:
    """The job's domains begin, or cease, to owe spares for it. Call it while the job is in an active state."""
    space = state.built_space
    if space is None:
        return
    change = space.add_want if wanted else space.drop_want
    for number in wanting_slices(job):
        domain = space.topology.domain_index.get(job.slices[number].domain)
        if domain is not None:
            change(domain, job.request.spares)


def _lose_slot(state: ClusterState, job: Job, name: str) -> None:
    for part in job.slices:
        if name in part.nodes:
            part.nodes[part.nodes.index(name)] = None
            state.lost.add(job.id)
            return

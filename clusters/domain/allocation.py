"""Who holds which node: the only functions that take nodes for jobs and give them back."""

from __future__ import annotations

from collections.abc import Collection

from clusters.domain.dense import wanting_slices
from clusters.domain.disruption import cause_of, disrupt
from clusters.domain.errors import BrokenInvariant
from clusters.domain.exclusive import refresh_closed
from clusters.domain.ids import Instant
from clusters.domain.job_events import SliceAssignment
from clusters.domain.jobs import ACTIVE, TERMINAL
from clusters.domain.state import REMEMBERED_JOBS, ClusterState, Job, Node, Slice


def hold_slice(state: ClusterState, job: Job, assignment: SliceAssignment) -> Slice:
    """Give the slice's free nodes, or the GPUs of its only node, to the job under its present generation."""
    if assignment.gpus:
        _hold_gpus(state, job, assignment)
    else:
        _hold_nodes(state, job, assignment.domain, assignment.nodes)
    return Slice(assignment.domain, list(assignment.nodes), assignment.gpus)


def hold_spare(state: ClusterState, job: Job, domain: str, name: str) -> None:
    """Give one more free node of the domain to the job under its present generation."""
    _hold_nodes(state, job, domain, (name,))


def _hold_nodes(state: ClusterState, job: Job, domain_name: str, names: tuple[str, ...]) -> None:
    """Whole nodes at once: their domain's mask changes once."""
    space = state.space
    topology = space.topology
    domain = topology.domain_index.get(domain_name, -1)
    mask = gpus = 0
    for name in names:
        node = state.nodes.get(name)
        if node is None or node.job or node.shares:
            owner = "unknown" if node is None else f"held by {node.job or ', '.join(node.shares)}"
            raise BrokenInvariant(f"job {job.id} was given node {name}, which is {owner}")
        index = topology.index[name]
        if topology.domain_of[index] != domain:
            raise BrokenInvariant(f"job {job.id} was given node {name}, which is not in domain {domain_name}")
        node.job = job.id
        gpus += node.gpus
        mask |= 1 << index - topology.domains[domain].first
        job.held_nodes[name] = job.generation
    state.holders[job.id] = job
    job.unstarted.update(names)
    space.take_mask(domain, mask)
    _use(state, job, gpus)


def _hold_gpus(state: ClusterState, job: Job, assignment: SliceAssignment) -> None:
    (name,) = assignment.nodes
    node = state.nodes.get(name)
    mask = sum(1 << gpu for gpu in assignment.gpus)
    if node is None or node.job or any(mask & taken for taken in node.shares.values()) or mask >> node.gpus:
        raise BrokenInvariant(f"job {job.id} was given GPUs {assignment.gpus} of node {name}, which are not all free")
    if node.domain != assignment.domain:
        raise BrokenInvariant(f"job {job.id} was given node {name}, which is not in domain {assignment.domain}")
    node.shares[job.id] = mask
    job.held_nodes[name] = job.generation
    state.holders[job.id] = job
    job.unstarted.add(name)
    state.space.take_gpus(state.topology.index[name], mask)
    _use(state, job, len(assignment.gpus))


def _use(state: ClusterState, job: Job, gpus: int) -> None:
    if gpus:
        state.usage.change(job.request.team, gpus, state.moment, state.policy.fair_share_half_life_h)


def _gpus_on(node: Node, job: Job) -> int:
    return node.gpus if node.job == job.id else node.shares[job.id].bit_count()


def release_nodes(state: ClusterState, job: Job, names: Collection[str], at: Instant) -> None:
    """The job's work on these nodes has stopped for certain: they are free of it, and slots that still counted on them are lost."""
    space = state.built_space
    lost: dict[str, int] = {}  # node -> GPUs that a slot had there
    masks: dict[int, int] = {}
    freed = 0
    for name in names:
        node = state.nodes[name]
        had = _gpus_on(node, job)
        freed += had
        if node.job == job.id:
            node.job = ""
            if space is not None:
                domain, bit = space.locate(space.topology.index[name])
                masks[domain] = masks.get(domain, 0) | bit
        else:
            _give_gpus(state, node, job)
        if _forget_node(state, job, name):
            lost[name] = had
    for domain, mask in masks.items():
        state.space.give_mask(domain, mask)
    _use(state, job, -freed)
    if lost:
        disrupt(state, job, sum(lost.values()), cause_of(state, next(iter(lost))), at)
    for name in names:
        take_place(state, state.nodes[name])
    settle(state, job)


def _give_gpus(state: ClusterState, node: Node, job: Job) -> None:
    gpus = node.shares.pop(job.id)
    space = state.built_space
    if space is not None:
        space.give_gpus(space.topology.index[node.name], gpus)


def take_place(state: ClusterState, node: Node) -> None:
    """The node gets the domain and the GPUs that the inventory says, unless work is on it: a slice lies in one domain while it runs."""
    if not (node.job or node.shares) and (node.domain, node.gpus) != (node.told_domain, node.told_gpus):
        node.domain, node.gpus = node.told_domain, node.told_gpus
        state.drop_space()


def fence_node(state: ClusterState, node: Node, at: Instant) -> None:
    """Whatever ran on the node is dead: it leaves all its jobs."""
    for job in (node.job, *node.shares):
        if job:
            release_nodes(state, state.jobs[job], (node.name,), at)


def _forget_node(state: ClusterState, job: Job, name: str) -> bool:
    """The job has the node no more; whether one of its slots is lost with it."""
    del job.held_nodes[name]
    if not job.held_nodes:
        del state.holders[job.id]
    if state.lent.get(name) == job.id:
        del state.lent[name]
    job.unstarted.discard(name)
    if name in job.leaving:
        job.leaving.discard(name)
        return False
    return job.state in ACTIVE and _lose_slot(state, job, name)


def settle(state: ClusterState, job: Job) -> None:
    """Forget an ended job once its work has stopped everywhere; note a stopping one that has."""
    refresh_closed(state, job)
    if job.held_nodes:
        return
    if job.state in TERMINAL:
        del state.jobs[job.id]
        state.exclusive.discard(job.id)
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


def _lose_slot(state: ClusterState, job: Job, name: str) -> bool:
    for part in job.slices:
        if name in part.nodes:
            slot = part.nodes.index(name)
            part.nodes[slot] = None
            part.lost[slot] = name
            state.lost.add(job.id)
            return True
    return False

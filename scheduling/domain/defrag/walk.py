"""A plan, walked node by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy

from clusters.domain.defrag import Plan, PlanMove
from clusters.domain.ids import Instant
from clusters.domain.job_events import SliceAssignment
from clusters.domain.jobs import ACTIVE, JobKind
from clusters.domain.slices import cluster_slice, is_small, whole_nodes
from clusters.domain.space import Space
from clusters.domain.state import ClusterState, Job, Slice
from scheduling.domain.defrag.kept import kept_from
from scheduling.domain.defrag.model import Terms
from scheduling.domain.defrag.prices import priority_of
from scheduling.domain.limits import outlasts_rack
from scheduling.domain.tethers import tether


class Walk:
    """Who holds which GPUs as the plan goes on."""

    def __init__(self, state: ClusterState, plan: Plan, terms: Terms, now: Instant) -> None:
        self._state = state
        self._now = now
        self._plan = plan
        self._terms = terms
        self._held: dict[str, dict[str, int]] = {}  # node -> job -> mask of GPUs
        for name, node in state.nodes.items():
            self._held[name] = {node.job: -1} if node.job else dict(node.shares)
        self._kept = {name: other.job for other in kept_from(state, plan.job) for name in other.nodes}
        self._moved: dict[str, dict[int, SliceAssignment]] = {}
        self._waiting: set[str] = set()

    def step(self, move: PlanMove) -> Iterator[str]:
        """Take one step; what is wrong with it."""
        job = self._state.jobs.get(move.job)
        if job is None or job.state not in ACTIVE or job.generation != move.generation:
            yield f"{move.job} does not run as it did when the plan was made"
            return
        yield from self._may_be_disturbed(job)
        if move.job in self._waiting or move.slice in self._moved.get(move.job, ()):
            yield f"{move.job} is disturbed twice"
            return
        if move.to is None:
            yield from self._wait(job, move)
        elif move.slice not in range(len(job.slices)):
            yield f"{move.job} has no slice {move.slice}"
        else:
            yield from self._move(job, move, move.to)

    def _may_be_disturbed(self, job: Job) -> Iterator[str]:
        policy = self._state.policy
        if job.id == self._plan.job:
            yield f"{job.id} would make room for itself"
        if job.id in self._state.lost or job.leaving:
            yield f"{job.id} is moving already, or lacks nodes"
        if not job.request.restartable:
            yield f"{job.id} cannot be restarted"
        if job.request.kind is JobKind.INTERACTIVE and not policy.interactive_preemptible:
            yield f"{job.id} is interactive"
        spared = self._terms.victims is not None and job.id not in self._terms.victims
        if spared or job.request.team in self._terms.exempt or job.id in self._terms.cooling:
            yield f"{job.id} is to be left alone"
        wanting = self._state.jobs.get(self._plan.job)
        if wanting is not None and not self._terms.higher and priority_of(self._state, job) > priority_of(self._state, wanting):
            yield f"{job.id} has a higher priority than {wanting.id}"

    def _wait(self, job: Job, move: PlanMove) -> Iterator[str]:
        if job.id in self._moved:
            yield f"{job.id} is moved and waits"
        if set(move.nodes) != set(job.held_nodes):
            yield f"{job.id} holds other nodes than {', '.join(move.nodes)}"
        self._waiting.add(job.id)
        for name in job.held_nodes:
            del self._held[name][job.id]

    def _move(self, job: Job, move: PlanMove, to: SliceAssignment) -> Iterator[str]:
        part = job.slices[move.slice]
        if part.domain != move.domain or tuple(part.nodes) != move.nodes:
            yield f"slice {move.slice} of {job.id} is not where the plan says"
            return
        if len(to.nodes) != len(part.nodes) or len(to.gpus) != len(part.gpus) or len(set(to.nodes)) < len(to.nodes):
            yield f"{job.id} gets {len(to.nodes)} nodes for a slice of {len(part.nodes)}"
        if to.domain == part.domain or job.request.exclusive:
            yield f"{job.id} may not move to {to.domain}"
        for name in to.nodes:
            yield from self._take(job, name, to)
        for name in move.nodes:
            del self._held[name][job.id]
        self._moved.setdefault(job.id, {})[move.slice] = to

    def _take(self, job: Job, name: str, to: SliceAssignment) -> Iterator[str]:
        node = self._state.nodes.get(name)
        if node is None or not node.placeable:
            yield f"{name} cannot be used"
            return
        if node.domain != to.domain:
            yield f"{name} is not in {to.domain}"
        if outlasts_rack(self._state, job.request, name, self._now):
            yield f"the rack of {name} has its maintenance before {job.id} would end"
        if name in self._kept:
            yield f"{name} is kept for {self._kept[name]}"
        mask = sum(1 << gpu for gpu in to.gpus) if to.gpus else -1
        holders = [other for other, gpus in self._held[name].items() if gpus & mask]
        if holders:
            yield f"{name} is held by {', '.join(holders)} when {job.id} comes"
        if mask >= 0 and mask >> node.gpus:
            yield f"{name} has only {node.gpus} GPUs"
        self._held[name][job.id] = mask

    # ---- at the end

    def ended(self) -> Iterator[str]:
        """What does not hold once all moves are done."""
        topology = self._state.topology
        for name, places in self._moved.items():
            job = self._state.jobs[name]
            after = copy(job)
            after.slices = [
                Slice(places[number].domain, list(places[number].nodes), places[number].gpus) if number in places else part
                for number, part in enumerate(job.slices)
            ]
            for number, to in places.items():
                if not tether(topology, after, number) >> topology.domain_index[to.domain] & 1:
                    yield f"slice {number} of {name} leaves the level that it must keep to"
        yield from self._crowded()

    def _crowded(self) -> Iterator[str]:
        """Domains that work has come to and that have fewer free nodes than they must keep, and than they had."""
        state = self._state
        size = cluster_slice(state.topology, state.policy)
        coming: dict[str, list[bool]] = {}
        for name, places in self._moved.items():
            request = state.jobs[name].request
            small = is_small(whole_nodes(request, state.topology.usual_gpus), size)
            for to in places.values():
                coming.setdefault(to.domain, []).append(small)
        for domain, smalls in coming.items():
            index = state.topology.domain_index[domain]
            if state.space.closed >> index & 1:
                yield f"{domain} is closed to other work"
            keep = state.space.target(index, state.policy) if all(smalls) else state.policy.min_spares
            left = len(self._free_in(domain))
            if left < min(keep, len([name for name in self._nodes_of(domain) if self._was_free(name)])):
                yield f"{domain} has {left} free nodes in the end and must keep {keep}"

    def unfree(self, nodes: Iterable[str], domains: tuple[str, ...]) -> Iterator[str]:
        """Of the nodes that are to be free, those that are not, or not for as long as they are wanted."""
        wanting = self._state.jobs.get(self._plan.job)
        for name in nodes:
            node = self._state.nodes.get(name)
            if node is None or node.domain not in domains:
                yield f"{name} is in none of the domains"
            elif not node.placeable or self._held[name] or name in self._kept:
                yield f"{name} is not free in the end"
            elif wanting is not None and outlasts_rack(self._state, wanting.request, name, self._now):
                yield f"the rack of {name} has its maintenance before {wanting.id} would end"

    def work_in(self, domain: str) -> list[str]:
        """Jobs that are still in the domain."""
        return sorted({job for name in self._nodes_of(domain) for job in self._held[name]})

    def space_of(self, nodes: tuple[str, ...]) -> Space:
        """The space in which only these nodes are free, with the spares that are owed, and closed to whom it was."""
        space = Space(self._state.topology)
        for index, site in enumerate(space.topology.nodes):
            if site.name in nodes:
                space.set_placeable(index, placeable=True)
            elif self._held[site.name]:
                space.take(index)
        return space

    def _nodes_of(self, domain: str) -> list[str]:
        group = self._state.topology.domains[self._state.topology.domain_index[domain]]
        return [site.name for site in self._state.topology.nodes[group.first : group.first + group.size]]

    def _free_in(self, domain: str) -> list[str]:
        return [name for name in self._nodes_of(domain) if self._state.nodes[name].placeable and not self._held[name]]

    def _was_free(self, name: str) -> bool:
        node = self._state.nodes[name]
        return node.placeable and not node.job and not node.shares

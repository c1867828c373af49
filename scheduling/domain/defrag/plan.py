"""Writing a solution as a plan: which nodes, in an order that can be walked."""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.defrag import Plan, PlanMove
from clusters.domain.job_events import SliceAssignment
from clusters.domain.state import Job
from scheduling.domain.defrag.ground import kept_for_others
from scheduling.domain.defrag.model import Problem, Solution, Unit
from scheduling.domain.defrag.victims import Victims
from scheduling.domain.nodes import bits, choose_nodes
from scheduling.domain.trial import Trial


def plan_of(trial: Trial, problem: Problem, solution: Solution) -> Plan:
    """The plan in full. The trial must be of the state, and of the time, that the problem is of."""
    writer = _Writer(trial, problem)
    moves = (*writer.waits(solution.waits), *writer.moves(solution.moves))
    nodes = tuple(writer.kept(solution))
    return Plan(
        aim=problem.aim,
        job=problem.job,
        domains=tuple(problem.domains[domain].name for domain, _ in solution.targets),
        nodes=nodes,
        moves=moves,
        cost=solution.cost,
        bound=solution.bound,
        slice_only=solution.slice_only,
        rivals=solution.rivals,
        solver=solution.solver,
        status=solution.status,
        seconds=solution.seconds,
        at_seq=problem.at_seq,
        at=problem.at,
    )


class _Writer:
    def __init__(self, trial: Trial, problem: Problem) -> None:
        self._problem = problem
        self._space = trial.space.fork()
        self._jobs = trial.state.jobs
        self._topology = trial.topology
        job = trial.state.jobs.get(problem.job)
        self._prices = Victims(trial.state, trial.now, problem.terms, job)
        self._paid: set[str] = set()  # jobs that have paid what is paid once
        self._kept = kept_for_others(trial, job)
        for domain, mask in self._kept.items():
            self._space.take_mask(domain, mask)

    def waits(self, owners: tuple[int, ...]) -> Iterator[PlanMove]:
        """Jobs that stop and wait, told by their first slice."""
        for owner in owners:
            for name in self._problem.owners[owner].jobs:
                job = self._jobs[name]
                nodes = tuple(node for part in job.slices for node in part.nodes if node is not None)
                cost = self._prices.prices(job).wait
                yield self._move(job, 0, nodes, None, cost)
            for unit in self._problem.owners[owner].units:
                self._leave(self._problem.units[unit])

    def moves(self, moves: tuple[tuple[int, int], ...]) -> Iterator[PlanMove]:
        """Slices that get another place."""
        for number, domain in moves:
            unit = self._problem.units[number]
            mask = choose_nodes(self._space, domain, unit.size, 0)
            self._space.take_mask(domain, mask)
            names = self._names(domain, mask)
            for name, part in unit.pieces:
                job = self._jobs[name]
                old = tuple(node for node in job.slices[part].nodes if node is not None)
                to = SliceAssignment(domain=self._topology.domains[domain].name, nodes=names, gpus=job.slices[part].gpus)
                yield self._move(job, part, old, to, self._price(job, part))
            self._leave(unit)

    def kept(self, solution: Solution) -> Iterator[str]:
        """The nodes that are free in the end, as many as are needed."""
        for domain, way in solution.targets:
            yield from self._names(domain, choose_nodes(self._space, domain, min(way.need, self._space.count[domain]), 0))

    def _price(self, job: Job, part: int) -> int:
        prices = self._prices.prices(job)
        first = job.id not in self._paid
        self._paid.add(job.id)
        return prices.own[part] + (prices.shared if first else 0)

    def _move(self, job: Job, part: int, nodes: tuple[str, ...], to: SliceAssignment | None, cost: int) -> PlanMove:
        return PlanMove(
            job=job.id,
            generation=job.generation,
            slice=part,
            domain=job.slices[part].domain,
            nodes=nodes,
            to=to,
            cost=cost,
            lost=cost // self._prices.weight(job),
        )

    def _leave(self, unit: Unit) -> None:
        """Its nodes are free; parts of a node leave with the rest of it."""
        for name, part in unit.pieces:
            for node in self._jobs[name].slices[part].nodes:
                if node is not None:
                    index = self._topology.index[node]
                    domain, bit = self._space.locate(index)
                    self._space.gpu_free.pop(index, None)
                    if not self._kept.get(domain, 0) & bit:
                        self._space.give_mask(domain, bit)

    def _names(self, domain: int, mask: int) -> tuple[str, ...]:
        first = self._topology.domains[domain].first
        return tuple(self._topology.nodes[first + bit].name for bit in bits(mask))

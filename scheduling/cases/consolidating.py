"""Making room for a job that waits: the fewest workers of movable jobs that go elsewhere, found exactly.

Workers move all together: those that move stop first, and start once the last of them has stopped, so their order does not matter. Of as
many moves, those let most workers of the job start that waits, and then those of work of low priority are better. A moved job keeps the
level that it requires.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scheduling.cases.fields import Fields
from scheduling.cases.nodes import RUNS, SLACK
from scheduling.cases.reading import Question
from scheduling.domain.trees import Tree
from scheduling.domain.trees.model import Path, held_together, layer_sizes
from scheduling.solver.highs import run
from scheduling.solver.program import INF, Program

#: So long the search for one case may take; then it has the best that it has found.
SECONDS = 10.0

_Class = tuple[float, str]  # GPUs of a worker, and the job where it has a level of its own: such workers are alike


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Workers of one job on one node that are alike."""

    kind: _Class
    job: str
    node: str
    priority: float
    movable: bool
    level: str  # that the job requires; "" = none
    workers: tuple[int, ...]


def may_consolidate(case: Fields) -> bool:
    """Whether the job that waits could be moved in turn once it runs: others move for such jobs only."""
    name = case.part("request").text("job")
    return next(job.flag("movable", default=True) for job in case.parts("jobs") if job.text("name") == name)


def make_room(case: Fields, question: Question) -> tuple[Question, list[dict[str, Any]]] | None:
    """The moves, and the question as it is after them; None where moves do not help."""
    if question.ask.tail and question.ask.layers:
        return None
    jobs = {job.text("name"): job for job in case.parts("jobs", needed=True)}
    size = jobs[case.part("request").text("job")].number("gpus_per_worker")
    groups = list(_groups(list(jobs.values())))
    free = {node.text("name"): node.number("gpus") for node in case.parts("nodes", needed=True)}
    for group in groups:
        free[group.node] -= group.kind[0] * len(group.workers)
    moves = _Model(question, size, groups, free).moves()
    if not moves:
        return None
    for group, _, to in moves:
        free[group.node] += group.kind[0]
        free[to] -= group.kind[0]
    tree = question.tree.with_room(max(0, int(free[name] / size + SLACK)) for name in question.names)
    told = [{"job": group.job, "worker": worker, "from": group.node, "to": to} for group, worker, to in moves]
    return replace(question, tree=tree), told


def _groups(jobs: Sequence[Fields]) -> Iterator[_Group]:
    for job in jobs:
        level = job.part("topology").text("required_level", "")
        alike: dict[tuple[str, float], list[int]] = defaultdict(list)
        for number, worker in enumerate(job.parts("workers")):
            if worker.text("state") in RUNS:
                alike[worker.text("node"), worker.number("gpus", job.number("gpus_per_worker", 0))].append(number)
        for (node, gpus), workers in alike.items():
            yield _Group(
                kind=(gpus, job.text("name") if level else ""),
                job=job.text("name"),
                node=node,
                priority=job.number("priority", 0),
                movable=job.flag("movable", default=False),
                level=level,
                workers=tuple(workers),
            )


class _Model:
    """Whole numbers: workers that leave each group, that come to each node, and that the job has there."""

    def __init__(self, question: Question, size: float, groups: Sequence[_Group], free: dict[str, float]) -> None:
        self._program = Program()
        self._tree, self._ask = question.tree, question.ask
        self._leaf = {name: leaf for leaf, name in enumerate(question.names)}
        self._groups = [group for group in groups if group.movable and group.kind[0] > 0]
        ranks = {priority: rank for rank, priority in enumerate(sorted({group.priority for group in self._groups}), 1)}
        count = question.ask.count
        price = count + 1  # a move outweighs all workers that it lets start
        self._out = [self._program.column(price, len(group.workers), ranks[group.priority]) for group in self._groups]
        self._all_cost = price * sum(len(group.workers) for group in self._groups) + count
        self._alike: dict[_Class, list[int]] = defaultdict(list)
        for number, group in enumerate(self._groups):
            self._alike[group.kind].append(number)
        self._come = {
            (kind, leaf): self._program.column(0, self._total(kind)) for kind in self._alike for leaf in range(len(question.names))
        }
        self._has = [self._program.column(0, count) for _ in question.names]
        unplaced = self._program.column(1, count - question.low)
        self._program.row(count, count, dict.fromkeys(self._has, 1.0) | {unplaced: 1.0})
        self._balance(size, [free[name] for name in question.names])
        self._hold_together(count)
        for kind, members in self._alike.items():
            self._keep_level(kind, members)

    def _total(self, kind: _Class) -> int:
        return sum(len(self._groups[number].workers) for number in self._alike[kind])

    def _balance(self, size: float, free: list[float]) -> None:
        """Who leaves comes somewhere, and no node has more than it holds."""
        rooms: list[dict[int, float]] = [{column: size} for column in self._has]
        for kind, members in self._alike.items():
            here = {self._come[kind, leaf]: 1.0 for leaf in range(len(free))}
            self._program.row(0, 0, here | {self._out[number]: -1.0 for number in members})
            for leaf, room in enumerate(rooms):
                room[self._come[kind, leaf]] = kind[0]
        for group, column in zip(self._groups, self._out, strict=True):
            if group.node in self._leaf:
                rooms[self._leaf[group.node]][column] = -group.kind[0]
        for room, most in zip(rooms, free, strict=True):
            self._program.row(-INF, most + SLACK, room)

    def _hold_together(self, count: int) -> None:
        """The job lies in one group of the level that it requires, and its slices are whole in each layer."""
        depth = held_together(self._tree, self._ask)
        if depth:
            inside = self._in_one(depth)
            for leaf, column in enumerate(self._has):
                self._program.row(-INF, 0, {column: 1.0, inside[self._tree.leaves[leaf][:depth]]: -float(count)})
            self._program.row(1, 1, dict.fromkeys(inside.values(), 1.0))
        for layer, size in layer_sizes(self._tree, self._ask).items():
            for leaves in _by_group(self._tree, layer).values():
                whole = self._program.column(0, count // size)
                self._program.row(0, 0, {self._has[leaf]: 1.0 for leaf in leaves} | {whole: -float(size)})

    def _in_one(self, depth: int) -> dict[Path, int]:
        """A switch for each group of a depth."""
        return {path: self._program.column(0, 1) for path in _by_group(self._tree, depth)}

    def _keep_level(self, kind: _Class, members: Sequence[int]) -> None:
        """All workers of a job that moves are in one group of its level in the end; where none moves, they stay as they are."""
        level = self._groups[members[0]].level
        depth = self._tree.depth_of(level) if level else None
        if depth is None or (kind[0], kind[1]) != min(other for other in self._alike if other[1] == kind[1]):
            return
        inside = self._in_one(depth)
        unmoved = self._program.column(0, 1)
        self._program.row(1, 1, dict.fromkeys([*inside.values(), unmoved], 1.0))
        for other in (other for other in self._alike if other[1] == kind[1]):
            for leaf, path in enumerate(self._tree.leaves):
                self._program.row(-INF, 0, {self._come[other, leaf]: 1.0, inside[path[:depth]]: -float(self._total(other))})
            for number in self._alike[other]:
                self._stay(number, depth, inside, unmoved)

    def _stay(self, number: int, depth: int, inside: dict[Path, int], unmoved: int) -> None:
        """Workers that stay are in the group of the others, unless none moves."""
        group = self._groups[number]
        workers = float(len(group.workers))
        terms = {self._out[number]: -1.0, unmoved: -workers}
        leaf = self._leaf.get(group.node)
        if leaf is not None:
            terms[inside[self._tree.leaves[leaf][:depth]]] = -workers
        self._program.row(-INF, -workers, terms)

    def moves(self) -> list[tuple[_Group, int, str]]:
        """(group, worker, node it goes to) of each worker that moves; none where the job cannot be placed so."""
        answer = run(self._program, self._all_cost + 1, SECONDS)
        if answer.values is None:
            return []
        values = answer.values
        cost = round(sum(cost * value for cost, value in zip(self._program.costs, values, strict=True)))
        tidied = run(self._program, cost + 1, SECONDS, ranked=True)
        return list(self._read(tidied.values or values))

    def _read(self, values: Sequence[float]) -> Iterator[tuple[_Group, int, str]]:
        names = {leaf: name for name, leaf in self._leaf.items()}
        for kind, members in self._alike.items():
            leaving = [(self._groups[number], worker) for number in members for worker in self._last(number, values)]
            places = [names[leaf] for leaf in names for _ in range(round(values[self._come[kind, leaf]]))]
            for (group, worker), place in zip(leaving, places, strict=True):
                yield group, worker, place

    def _last(self, number: int, values: Sequence[float]) -> tuple[int, ...]:
        """The last workers of a group move: those of elastic jobs that matter least."""
        workers = self._groups[number].workers
        return workers[len(workers) - round(values[self._out[number]]) :]


def _by_group(tree: Tree, depth: int) -> dict[Path, list[int]]:
    """Leaves by the group of a depth that they are in."""
    found: dict[Path, list[int]] = defaultdict(list)
    for leaf, path in enumerate(tree.leaves):
        found[path[:depth]].append(leaf)
    return found

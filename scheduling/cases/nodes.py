"""The nodes of a case: where they are, and how many workers of the request still fit on each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scheduling.cases.fields import Fields
from scheduling.domain.trees.model import Path

HOST = "host"  # a level that is a node's own name where it has no such label
RUNS = ("running", "bound")  # states in which a worker holds its GPUs
SLACK = 1e-9  # GPUs are given in parts of one, too

#: What keeps a node from new workers: a field, its value otherwise, and the reason.
FLAGS = (
    ("ready", True, "not_ready"),
    ("schedulable", True, "unschedulable"),
    ("in_topology", True, "not_in_topology"),
    ("failed", False, "failed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of a case."""

    name: str
    host: str  # its host label
    path: Path  # one name for each level; its own, in brackets, where it has no label
    room: int  # further workers of the request that fit on it
    usable: bool  # may take new workers
    excluded: str  # why it takes none; "" where it has room

    def is_called(self, name: str) -> bool:
        return name in (self.name, self.host)


def read_nodes(case: Fields, room: Callable[[Fields], int]) -> list[Node]:
    """All nodes; `room` says how many workers fit on one that may take any."""
    levels = case.texts("levels")
    if len(set(levels)) < len(levels):
        raise case.wrong("levels", "give each level once")
    listed = case.part("request").texts("node_list")
    nodes = [_node(entry, levels, room, listed) for entry in case.parts("nodes", needed=True)]
    for name, count in Counter(node.name for node in nodes).items():
        if count > 1:
            raise case.wrong("nodes", f"give each node a name of its own; {name!r} is there {count} times")
    return nodes


def _node(entry: Fields, levels: Sequence[str], room: Callable[[Fields], int], listed: Sequence[str]) -> Node:
    name = entry.text("name")
    labels = entry.part("labels")
    host = labels.label(HOST) or name
    barred = next((reason for flag, takes, reason in FLAGS if entry.flag(flag, default=takes) is not takes), "")
    outside = "node_list" if listed and name not in listed else ""
    workers = 0 if barred or outside else room(entry)
    return Node(
        name=name,
        host=host,
        path=tuple((host if level == HOST else labels.label(level)) or f"({name})" for level in levels),
        room=workers,
        usable=not barred,
        excluded="" if workers else entry.text("excluded_by", barred or outside or "no_room"),
    )


def free_workers(entry: Fields) -> int:
    """What the file says fits on a node."""
    return entry.whole("free")


def free_gpus(case: Fields) -> Callable[[Fields], int] | None:
    """What fits on a node beside the jobs that run, by their GPUs; None where the job that waits does not say how many it needs."""
    request = case.part("request")
    jobs = {job.text("name"): job for job in case.parts("jobs", needed=True)}
    waiting = jobs.get(request.text("job"))
    if waiting is None:
        raise request.wrong("job", f"name one of {sorted(jobs)}")
    size = waiting.number("gpus_per_worker", 0)
    used: dict[str, float] = defaultdict(float)
    for name, gpus in _running(jobs.values()):
        used[name] += gpus
    return (lambda node: max(0, int((node.number("gpus") - used[node.text("name")]) / size + SLACK))) if size else None


def _running(jobs: Iterable[Fields]) -> Iterator[tuple[str, float]]:
    """(node, GPUs) of each worker that holds any."""
    for job in jobs:
        for worker in job.parts("workers"):
            if worker.text("state") in RUNS:
                yield worker.text("node"), worker.number("gpus", job.number("gpus_per_worker", 0))


def with_own_level(levels: Sequence[str], nodes: Sequence[Node]) -> tuple[tuple[str, ...], list[Node]]:
    """Levels that end in one node each: one more where several nodes share a path."""
    if levels and len({node.path for node in nodes}) == len(nodes):
        return tuple(levels), list(nodes)
    own = next(name for name in ("node", *(f"node{number}" for number in range(len(levels)))) if name not in levels)
    return (*levels, own), [replace(node, path=(*node.path, node.name)) for node in nodes]

"""Groups of workers: sums, who is lost, who is new, and whose state counts. Workers are threads here, and the control plane is a stub."""

from __future__ import annotations

import socket
import threading
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from slicekeeper_worker import Group, PeerLost, State, Worker, donate
from slicekeeper_worker.assignment import Assignment, Place
from slicekeeper_worker.vectors import add_by_numpy, add_plainly
from slicekeeper_worker.wires import Broken, Places

SECONDS = 20.0


def assignment(generation: int, *nodes: str | None) -> Assignment:
    places = tuple(Place(slice=0, slot=rank, node=node, rank=rank, gpu_rank=4 * rank, gpus=()) for rank, node in enumerate(nodes))
    return Assignment(job="j000001", generation=generation, state="running", over=False, places=places, stays=(), came=(), left=())


@dataclass
class Stub:
    """What a group needs of a worker."""

    node: str
    assignment: Assignment
    job: str = "j000001"
    changed: bool = False
    generation: int = field(init=False)
    world: int = field(init=False)
    rank: int = field(init=False)

    def __post_init__(self) -> None:
        self.generation, self.world = self.assignment.generation, self.assignment.world
        place = self.assignment.place_of(self.node)
        self.rank = -1 if place is None else place.rank

    def wait(self, _: float) -> bool:
        """For a later assignment."""
        return self.changed

    def take(self) -> Assignment:
        """The next one: its first node is another."""
        self.assignment = replace(self.assignment, generation=self.generation + 1, places=assignment(0, "d", "e").places)
        self.changed, self.generation = False, self.generation + 1
        return self.assignment


class Company:
    """Workers that act at the same time."""

    def __init__(self, directory: Path) -> None:
        self.places = Places("j000001", {"SLICEKEEPER_SOCKETS": str(directory)})
        self.pool = ThreadPoolExecutor(max_workers=16)
        self.groups: list[Group] = []

    def form(self, given: Assignment, states: dict[str, State | None], donors: dict[str, State] | None = None) -> dict[str, Any]:
        """Node -> (group, state) or what it came to; donors' results, too."""
        coming: dict[str, Future[Any]] = {}
        for node, offered in (donors or {}).items():
            coming[node] = self.pool.submit(donate, worker(node, given), self.places, offered, SECONDS)
        for node, state in states.items():
            coming[node] = self.pool.submit(self._form, worker(node, given), state)
        return {node: future.result(SECONDS) for node, future in coming.items()}

    def _form(self, member: Worker, state: State | None) -> Any:
        group, whole = Group.form(member, self.places, state, lambda: State(7, b"restored"), SECONDS)
        self.groups.append(group)
        return group, whole

    def close(self) -> None:
        for group in self.groups:
            group.close()
        self.pool.shutdown()

    def sum(self, groups: dict[str, Group], vectors: dict[str, list[float]]) -> dict[str, list[float]]:
        """What each gets."""
        coming = {node: self.pool.submit(group.sum, array("d", vectors[node]).tobytes()) for node, group in groups.items()}
        return {node: list(array("d", bytes(future.result(SECONDS)))) for node, future in coming.items()}


def worker(node: str, given: Assignment) -> Worker:
    return cast(Worker, Stub(node=node, assignment=given))


@pytest.fixture
def company(tmp_path: Path) -> Iterator[Company]:
    made = Company(tmp_path)
    yield made
    made.close()


def test_everybody_gets_the_same_sum(company: Company) -> None:
    formed = company.form(assignment(1, "a", "b", "c"), {"a": None, "b": None, "c": None})
    groups = {node: group for node, (group, _) in formed.items()}
    for _ in range(3):
        told = company.sum(groups, {"a": [1.0, 0.1], "b": [2.0, 0.2], "c": [3.0, 0.3]})
        assert told["a"] == told["b"] == told["c"] == [6.0, 0.1 + 0.2 + 0.3]
    for group in groups.values():
        group.close()


def test_where_nobody_has_a_state_all_begin_with_the_restored_one(company: Company) -> None:
    formed = company.form(assignment(1, "a", "b"), {"a": None, "b": None})
    assert {state for _, state in formed.values()} == {State(7, b"restored")}


@pytest.mark.parametrize("furthest", ["a", "b", "c"])
def test_whoever_got_furthest_gives_its_state_to_those_who_are_behind(company: Company, furthest: str) -> None:
    states: dict[str, State | None] = {"a": State(4, b"four"), "b": State(4, b"four"), "c": None}
    states[furthest] = State(5, b"five")
    formed = company.form(assignment(2, "a", "b", "c"), states)
    assert {state for _, state in formed.values()} == {State(5, b"five")}


def test_a_slice_that_has_moved_takes_its_state_from_somebody_left_behind(company: Company) -> None:
    given = assignment(3, "x", "y")
    formed = company.form(given, {"x": None, "y": None}, donors={"a": State(9, b"nine")})
    assert formed["a"] is True
    assert formed["x"][1] == formed["y"][1] == State(9, b"nine")


def test_a_group_breaks_for_all_when_one_is_lost(company: Company) -> None:
    formed = company.form(assignment(1, "a", "b", "c"), {"a": None, "b": None, "c": None})
    groups: dict[str, Group] = {node: group for node, (group, _) in formed.items()}
    groups.pop("c").close()
    coming = [company.pool.submit(group.sum, bytes(8)) for group in groups.values()]
    for future in coming:
        with pytest.raises(PeerLost):
            future.result(SECONDS)


def test_a_later_assignment_ends_a_wait_for_others(company: Company) -> None:
    given = assignment(1, "a", "b")
    lonely = Stub(node="a", assignment=given)
    waiting = company.pool.submit(company._form, cast(Worker, lonely), None)
    lonely.changed = True
    with pytest.raises(PeerLost):
        waiting.result(SECONDS)


def test_somebody_of_another_generation_is_sent_away_and_the_others_join(company: Company) -> None:
    behind = Stub(node="b", assignment=assignment(1, "a", "b"))
    late = company.pool.submit(company._form, cast(Worker, behind), State(3, b"old"))
    formed = company.form(assignment(2, "a", "c"), {"a": State(4, b"four"), "c": None})
    assert {state for _, state in formed.values()} == {State(4, b"four")}
    for group, _ in formed.values():
        group.close()
    behind.changed = True  # if it came when nobody listened any more
    with pytest.raises(PeerLost):
        late.result(SECONDS)


def test_what_is_no_worker_does_not_disturb(company: Company) -> None:
    given = assignment(1, "a", "b")
    root = company.pool.submit(company._form, worker("a", given), State(1, b"one"))
    while True:
        try:
            stranger = company.places.connect("a", 1.0)
            break
        except Broken:
            threading.Event().wait(0.01)
    stranger.send({"hello": "world"})
    member = company.pool.submit(company._form, worker("b", given), None)
    assert root.result(SECONDS)[1] == member.result(SECONDS)[1] == State(1, b"one")
    stranger.close()


@pytest.mark.parametrize("vector", [np.ones(2), [1.0], memoryview(array("d", [1.0]))])
def test_a_vector_that_is_no_bytes_is_refused(vector: Any) -> None:
    with pytest.raises(TypeError, match="give the doubles as bytes"):
        Group(cast(Any, None), {}, None).sum(vector)


def test_an_assignment_that_lacks_a_node_forms_no_group(company: Company) -> None:
    with pytest.raises(PeerLost):
        Group.form(worker("a", assignment(1, "a", None)), company.places, None, lambda: State(0, b""), 1.0)


@pytest.mark.parametrize("add", [add_plainly, add_by_numpy])
def test_vectors_are_added_the_same_with_and_without_numpy(add: Callable[[bytearray, bytes], None]) -> None:
    total = bytearray(array("d", [0.1, 1e300, -5.0]).tobytes())
    add(total, array("d", [0.2, 1.0, 5.0]).tobytes())
    assert list(array("d", bytes(total))) == [0.1 + 0.2, 1e300, 0.0]


def test_who_is_waited_for_in_vain_is_named_on_both_sides(company: Company) -> None:
    given = assignment(1, "a", "b", "c")
    for node, named in (("a", r"rank 1 \(b\), rank 2 \(c\)"), ("b", r"rank 0 \(a\)")):
        with pytest.raises(PeerLost, match=named):
            Group.form(worker(node, given), company.places, None, lambda: State(0, b""), 0.3)


def test_a_port_that_somebody_has_is_a_reason_to_try_again() -> None:
    with socket.create_server(("", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(PeerLost, match=f"port {port}.*SLICEKEEPER_PORT"):
            Group.form(worker("a", assignment(1, "a", "b")), Places("j", {"SLICEKEEPER_PORT": port}), None, lambda: State(0, b""), 1.0)


def test_a_state_that_was_not_taken_is_offered_again_where_the_new_place_changes_once_more(company: Company) -> None:
    """The first rank 0 of the new place is lost before it has listened."""
    donor = Stub("a", assignment(2, "b", "c"))
    offered = company.pool.submit(donate, cast(Worker, donor), company.places, State(41, b"kept"), SECONDS)
    donor.changed = True
    formed = company.form(assignment(3, "d", "e"), {"d": None, "e": None})
    assert [state for _, state in formed.values()] == [State(41, b"kept")] * 2
    assert offered.result(SECONDS)

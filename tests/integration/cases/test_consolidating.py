"""Consolidation: a job that waits is placed by the fewest moves; held to the reference cases and to all moves of small worlds."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from itertools import product
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.cases.answering import Questions
from tests.support.shared import shared_path


def answer(case: dict[str, Any]) -> dict[str, Any]:
    ((_, found),) = Questions({"schema": "placement-cases/1", "cases": [case]}).answers()
    assert isinstance(found, dict)
    return found


def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", shared_path("cases", "score.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_cases_agree_and_move_no_more_than_needed() -> None:
    score = scorer()
    cases = json.loads(shared_path("cases", "kai_consolidation.json").read_text())["cases"]
    judged = [case for case in cases if score.judged(case)]
    assert len(judged) == 9
    for case in judged:
        question = {key: value for key, value in case.items() if key != "expected"}
        assert score.score(case, answer(question)) == (True, True, True, ""), case["id"]


Job = tuple[int, bool, list[int]]  # GPUs of a worker, movable, nodes


def case_of(nodes: list[tuple[int, str]], jobs: list[Job], size: int, request: dict[str, Any], bound: bool) -> dict[str, Any]:
    """Nodes (GPUs, rack), running jobs, and one that waits."""
    topology = {"topology": {"required_level": "rack"}} if bound else {}
    running = [
        {
            "name": f"r{number}",
            "movable": movable,
            "gpus_per_worker": gpus,
            "workers": [{"state": "running", "node": f"n{n}"} for n in there],
        }
        | topology
        for number, (gpus, movable, there) in enumerate(jobs)
    ]
    waiting = {"name": "w", "movable": True, "gpus_per_worker": size, "workers": [{"state": "pending"}] * request["count"]}
    return {
        "id": "c",
        "kind": "consolidate",
        "levels": ["rack"],
        "nodes": [{"name": f"n{n}", "labels": {"rack": rack}, "gpus": gpus} for n, (gpus, rack) in enumerate(nodes)],
        "jobs": [*running, waiting],
        "request": {"job": "w"} | request,
    }


@st.composite
def small_cases(draw: st.DrawFn) -> dict[str, Any]:
    nodes = draw(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["a", "b"])), min_size=2, max_size=4))
    left = [gpus for gpus, _ in nodes]
    jobs: list[Job] = []
    workers = 0
    for gpus, movable, wanted in draw(st.lists(st.tuples(st.integers(1, 2), st.booleans(), st.integers(1, 2)), max_size=4)):
        there: list[int] = []
        for _ in range(wanted if workers < 5 else 0):
            fits = [n for n, free in enumerate(left) if free >= gpus]
            if fits:
                there.append(draw(st.sampled_from(fits)))
                left[there[-1]] -= gpus
        if there:
            workers += len(there)
            jobs.append((gpus, movable, there))
    count = draw(st.integers(1, 2))
    mode = draw(st.sampled_from([{"mode": "any"}, {"mode": "required", "level": "rack"}]))
    sliced = draw(st.sampled_from([{}, {"slice_level": "rack", "slice_size": count}]))
    return case_of(nodes, jobs, draw(st.integers(1, 4)), {"count": count} | mode | sliced, draw(st.booleans()))


def fewest_moves(case: dict[str, Any]) -> int | None:
    """By trying all ends of all movable workers."""
    names = [node["name"] for node in case["nodes"]]
    rack = {node["name"]: node["labels"]["rack"] for node in case["nodes"]}
    running = [(job, worker["node"]) for job in case["jobs"][:-1] for worker in job["workers"]]
    best: int | None = None
    for ends in product(*(names if job["movable"] else [at] for job, at in running)):
        moved = [job["name"] for (job, at), end in zip(running, ends, strict=True) if at != end]
        if (best is None or len(moved) < best) and _holds(case, rack, running, ends, set(moved)):
            best = len(moved)
    return best


def _holds(
    case: dict[str, Any], rack: dict[str, str], running: list[tuple[dict[str, Any], str]], ends: tuple[str, ...], moved: set[str]
) -> bool:
    free = Counter({node["name"]: node["gpus"] for node in case["nodes"]})
    for (job, _), end in zip(running, ends, strict=True):
        free[end] -= job["gpus_per_worker"]
    racks = {name: {rack[end] for (job, _), end in zip(running, ends, strict=True) if job["name"] == name} for name in moved}
    if min(free.values()) < 0 or ("topology" in case["jobs"][0] and any(len(there) > 1 for there in racks.values())):
        return False
    room = Counter[str]()
    for name, gpus in free.items():
        room[rack[name]] += gpus // case["jobs"][-1]["gpus_per_worker"]
    count = case["request"]["count"]
    together = case["request"]["mode"] == "required" or "slice_size" in case["request"]
    return bool((max(room.values()) if together else room.total()) >= count)


@settings(max_examples=150)
@given(case=small_cases())
def test_no_fewer_moves_would_do_and_none_are_missed(case: dict[str, Any]) -> None:
    found = answer(case)
    fewest = fewest_moves(case)
    assert found["placed"] == (fewest is not None)
    assert len(found["moves"]) == (fewest or 0)
    whole = case | {"expected": {"placed": fewest is not None, "moves": [{}] * (fewest or 0)}}
    assert scorer().score(whole, found) == (True, True, True, "")


@pytest.mark.parametrize(("priorities", "mover"), [((50, 10), "r1"), ((10, 50), "r0")])
def test_of_as_many_moves_those_of_low_priority_are_made(priorities: tuple[int, int], mover: str) -> None:
    case = case_of([(4, "a"), (4, "a")], [(2, True, [0]), (2, True, [1])], 3, {"count": 1}, bound=False)
    for job, priority in zip(case["jobs"], priorities, strict=False):
        job["priority"] = priority
    assert [move["job"] for move in answer(case)["moves"]] == [mover]


def test_an_elastic_job_gets_as_many_as_the_fewest_moves_allow() -> None:
    case = case_of([(4, "a"), (4, "a"), (4, "a")], [(1, True, [0]), (2, True, [1]), (2, True, [2])], 4, {"count": 3, "min_count": 1}, False)
    found = answer(case)
    assert len(found["moves"]) == 1
    assert sum(part["count"] for part in found["assignment"]) == 1


def test_a_job_that_is_not_movable_is_not_asked_for() -> None:
    case = case_of([(4, "a")], [], 1, {"count": 1}, bound=False)
    case["jobs"][-1]["movable"] = False
    assert answer(case) == {"placed": False, "assignment": [], "moves": [], "reason": {"code": "not_movable"}}

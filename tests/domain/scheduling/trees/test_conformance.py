"""What four other schedulers do on the cases of their own tests, and random trees with a known answer: the engine does no worse.

The reference data brings a judge. It gets the engine's answers to the questions alone: does the engine place and refuse where the case
says, is what it places valid, and is it as tight.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clusters.domain.constraints import LevelMode
from scheduling.cases.answering import Questions
from scheduling.domain.trees import Allocation, Ask, build_tree, replace_tree
from tests.support.shared import shared_path


def judge(*words: str) -> str:
    """Run one of the reference data's programs."""
    name, *rest = words
    done = subprocess.run([sys.executable, shared_path("cases", name), *rest], capture_output=True, text=True, check=False, timeout=60)
    assert not done.stderr
    return done.stdout


def scores(cases: Path, directory: Path) -> dict[str, tuple[int, int]]:
    """agrees, valid, tight: (cases that are, cases) of the engine's answers."""
    questions = Questions(json.loads(judge("score.py", "--strip", str(cases))))
    answers = directory / "answers.json"
    answers.write_text(json.dumps({name: answer for name, answer in questions.answers() if answer is not None}))
    verdict = judge("score.py", str(cases), str(answers), "--verbose")
    found = {word: (int(good), int(of)) for word, good, of in re.findall(r"(agrees|valid|tight) (\d+)/(\d+)", verdict)}
    assert found.keys() == {"agrees", "valid", "tight"}, verdict
    return found


@pytest.mark.parametrize(("name", "judged"), [("kueue_tas", 83), ("slurm_block", 12), ("slurm_observed", 217)])
def test_cases_of_other_schedulers(name: str, judged: int, tmp_path: Path) -> None:
    found = scores(shared_path("cases", f"{name}.json"), tmp_path)
    assert found == {"agrees": (judged, judged), "valid": (judged, judged), "tight": (judged, judged)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 20260])
def test_random_trees(seed: int, tmp_path: Path) -> None:
    cases = tmp_path / "cases.json"
    cases.write_text(judge("random_cases.py", "--seed", str(seed), "-n", "250"))
    assert scores(cases, tmp_path) == {"agrees": (250, 250), "valid": (250, 250), "tight": (250, 250)}


def test_single_jobs_of_kai_are_placed_where_kai_places_them() -> None:
    document = json.loads(shared_path("cases", "kai_topology.json").read_text())
    placed = {name: answer["placed"] for name, answer in Questions(document).answers() if answer is not None}
    assert len(placed) == 16
    assert placed == {case["id"]: case["expected"]["placed"] for case in document["cases"] if case["kind"] == "place"}


def test_jobs_of_volcano_get_as_many_workers_as_volcano_binds() -> None:
    cases = json.loads(shared_path("cases", "volcano_hypernode.json").read_text())["cases"]
    plain = [case for case in cases if case["kind"] == "allocate" and "part-groups" not in case["tags"]]
    assert len(plain) == 13
    assert {case["id"]: _bound(case) for case in plain} == {case["id"]: case["expected"]["bound"] for case in plain}


def _bound(case: Mapping[str, Any]) -> int:
    """How many workers of an elastic job the engine adds to those that run; an unknown tier is no limit there."""
    levels, request = tuple(case["levels"]), case["request"]
    paths = {node["name"]: tuple(node["labels"].get(level, f"({node['name']})") for level in levels) for node in case["nodes"]}
    tree = build_tree(levels, {paths[node["name"]]: node.get("free", 0) for node in case["nodes"]})
    leaf = {path: number for number, path in enumerate(tree.leaves)}
    kept = Counter(leaf[paths[worker["node"]]] for worker in case["workers"] if worker.get("node") in paths)
    required = request["mode"] == "required" and request.get("level") in levels
    mode = LevelMode.REQUIRED if required else LevelMode.ANY
    for count in range(request["count"], 0, -1):
        ask = Ask(count=kept.total() + count, mode=mode, level=request["level"] if required else "")
        if isinstance(replace_tree(tree, ask, kept), Allocation):
            return count
    return 0

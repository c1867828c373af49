"""Slurm's node states."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.domain.signals import SignalKind
from clusters.signals import slurm
from tests.support.shared import shared_path


def sample(name: str) -> Any:
    return json.loads(shared_path("data", "formats", "slurm", f"slurmrestd-0.0.44-slurm-{name}.json").read_text(encoding="utf-8"))


def kinds(document: object) -> set[SignalKind]:
    parsed = slurm.parse(document)
    assert parsed.problems == ()
    return {signal.kind for signal in parsed.signals} - {SignalKind.RECOVERED}


def nodes(*states: str, reason: str = "") -> dict[str, Any]:
    return {"nodes": [{"name": "n1", "state": list(states), "reason": reason}]}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("IDLE",), set()),
        (("ALLOCATED", "NOT_RESPONDING"), {SignalKind.UNREACHABLE}),
        (("DOWN", "NOT_RESPONDING"), {SignalKind.UNREACHABLE}),  # Slurm makes DOWN of silence
        (("DOWN",), {SignalKind.FATAL}),
        (("ALLOCATED", "DRAIN"), {SignalKind.DRAINING}),
        (("DOWN", "DRAIN"), {SignalKind.FATAL, SignalKind.DRAINING}),
        (("FAIL",), {SignalKind.QUARANTINED}),
        (("IDLE", "INVALID_REG"), {SignalKind.SOFT}),
        (("FUTURE",), set()),
    ],
)
def test_the_words_of_a_state(states: tuple[str, ...], expected: set[SignalKind]) -> None:
    assert kinds(nodes(*states)) == expected


def test_nodes_as_slurmrestd_prints_them() -> None:
    assert kinds(sample("node-down")) == {SignalKind.FATAL}
    assert kinds(sample("node-drain")) == kinds(sample("node-draining")) == {SignalKind.DRAINING}
    assert kinds(sample("node-planned")) == set()
    (down,) = [signal for signal in slurm.parse(sample("node-down")).signals if signal.kind is SignalKind.FATAL]
    assert (down.node, down.text) == ("cn3", "DOWN: CPU dead")


def test_each_flag_stands_or_is_taken_back() -> None:
    checks = {signal.check: signal.kind for signal in slurm.parse(nodes("DRAIN", reason="firmware")).signals}
    assert len(checks) == len(slurm.FLAGS)
    assert checks["state draining"] is SignalKind.DRAINING
    assert checks["state failed"] is SignalKind.RECOVERED


def test_lines_of_sinfo_with_their_signs() -> None:
    lines = "n1|idle|none\nn2|drained*|disk\nn3|down*|Not responding\nn4|mix$|none\nn5\n\n"
    parsed = slurm.parse(lines)
    found = {(signal.node, signal.kind) for signal in parsed.signals if signal.kind is not SignalKind.RECOVERED}
    assert found == {
        ("n2", SignalKind.DRAINING),
        ("n2", SignalKind.UNREACHABLE),
        ("n3", SignalKind.UNREACHABLE),
        ("n4", SignalKind.DRAINING),
    }
    assert [problem.position for problem in parsed.problems] == ["line 5"]


def test_rows_of_sinfo_are_groups_of_nodes() -> None:
    row = {"node": {"state": ["DOWN"]}, "nodes": {"nodes": ["n1", "n2"]}, "reason": {"description": "cable"}}
    assert {signal.node for signal in slurm.parse({"sinfo": [row]}).signals if signal.kind is SignalKind.FATAL} == {"n1", "n2"}


def test_what_slurm_could_not_complete_is_told() -> None:
    parsed = slurm.parse({**nodes("IDLE"), "errors": [{"description": "timeout"}]})
    assert "timeout" in parsed.problems[0].message
    assert slurm.parse({"nodes": [{"name": "n1", "state": 3}]}).problems
    assert slurm.parse({}).problems

"""What the cluster could never hold is refused with what would be held; what it holds is told beforehand."""

from __future__ import annotations

import pytest

from clusters.domain.constraints import JobPart, ParallelPlan
from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from scheduling.domain.feasibility import preview
from scheduling.domain.refusals import explain
from tests.domain.scheduling.test_asking import REQUIRED, ROLLOUT, TRAINER, layers, parts
from tests.support.world import World, ask, racks

NEVER: dict[str, tuple[JobRequest, str]] = {
    "more than a block holds": (
        ask(200, level="block", mode=REQUIRED),
        "nodes: 200 can never be placed here; give at most 128 nodes, or prefer the block rather than require it",
    ),
    "more than a rack holds": (
        ask(32, level="rack", mode=REQUIRED),
        "nodes: 32 can never be placed here; give at most 18 nodes, or prefer the rack rather than require it",
    ),
    "runs that no block holds": (
        ask(480, layers=layers(block=160)),
        "nodes: 480 can never be placed here; no block holds 160 nodes in such slices; give smaller layers",
    ),
    "too many runs": (ask(640, layers=layers(block=64)), "nodes: 640 can never be placed here; give at most 256 nodes"),
    "groups that no domain holds": (
        ask(40, plan=ParallelPlan(tp=80, dp=2)),
        "nodes: 40 can never be placed here; no domain holds a slice of 20 nodes; give a plan whose TP x EP groups fill at most 18 nodes",
    ),
    "a part that no rack holds": (
        parts(TRAINER, JobPart(name="rollout", nodes=24, level="rack", mode=REQUIRED)),
        "nodes: 56 can never be placed here; its parts do not fit together: of part rollout 1 of 2 slices do",
    ),
    "parts that no block holds": (
        parts(TRAINER, JobPart(name="rollout", nodes=128), level="block", mode=REQUIRED),
        "nodes: 160 can never be placed here; no block holds all its parts; prefer the block rather than require it",
    ),
}


@pytest.mark.parametrize("sentence", NEVER)
def test_what_can_never_fit_says_what_would(sentence: str) -> None:
    request, expected = NEVER[sentence]
    outcome = preview(World(racks(16)).state, request)
    assert isinstance(outcome, Refusal)
    assert explain(outcome) == expected


def test_a_preview_tells_the_parts() -> None:
    outcome = preview(World(racks(8)).state, parts(TRAINER, ROLLOUT))
    assert not isinstance(outcome, Refusal)
    assert outcome.text == "part trainer: 16 + 16 nodes; part rollout: 4 + 4 + 4 nodes, each slice whole in one domain"

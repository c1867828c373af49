"""How good a plan is, in words."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.defrag import Plan, PlanAim, PlanMove, Rival
from scheduling.domain.defrag.words import certificate

MOVE = PlanMove(job="j1", generation=1, slice=0, domain="r1", nodes=("r1-n1",), to=None, cost=1, lost=1)


def plan(**fields: Any) -> Plan:
    usual: dict[str, Any] = {
        "aim": PlanAim.JOB,
        "job": "j2",
        "domains": ("r1",),
        "nodes": (),
        "moves": (MOVE,),
        "cost": 11_520,
        "bound": 11_520,
        "slice_only": None,
        "rivals": (),
        "solver": "highs",
        "status": "optimal",
        "seconds": 0.1,
        "at_seq": 1,
        "at": 0,
    }
    return Plan(**{**usual, **fields})


def rival(*domains: str, cost: int | None = 14_760) -> Rival:
    return Rival(domains=domains, cost=cost, reason="")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Proven cheapest: no plan costs less than 3.2 GPU-hours."),
        (
            {"rivals": (rival("r17"),), "slice_only": 7_200},
            "Proven cheapest: no plan costs less than 3.2 GPU-hours. The runner-up is r17 at 4.1 GPU-hours. "
            "Without its spares the job would fit at 2.0 GPU-hours.",
        ),
        (
            {"rivals": (rival("r1", "r2", "r3"),)},
            "Proven cheapest: no plan costs less than 3.2 GPU-hours. The runner-up is r1, r2 and r3 at 4.1 GPU-hours.",
        ),
        ({"rivals": (rival("r2", cost=None),), "slice_only": 11_520}, "Proven cheapest: no plan costs less than 3.2 GPU-hours."),
        (
            {"bound": 8_640, "status": "time limit"},
            "The best plan found, at 3.2 GPU-hours. No plan costs less than 2.4 GPU-hours, "
            "so a better one could save 25 % at most (time limit).",
        ),
        (
            {"bound": 0, "status": "time limit"},
            "The best plan found, at 3.2 GPU-hours; whether there is a cheaper one is not known (time limit).",
        ),
        ({"moves": (), "cost": 0, "bound": 0}, "Nothing has to move."),
    ],
)
def test_the_certificate_says_what_is_proven(fields: dict[str, Any], words: str) -> None:
    assert certificate(plan(**fields)) == words

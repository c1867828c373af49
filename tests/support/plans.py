"""A plan in the cluster of `tests.support.lab`, as a search would have proposed it."""

from __future__ import annotations

from typing import Any

from clusters.domain.defrag import Plan, PlanAim, PlanMove, Rival
from clusters.domain.defrag_events import DefragPlanned
from clusters.domain.ids import plan_id
from clusters.domain.job_events import SliceAssignment
from clusters.eventlog.live import live
from tests.support.lab import NAME, report

FREED = tuple(f"r1-n{number:02d}" for number in range(1, 17))
RIVALS = (
    Rival(domains=("r3",), cost=14_400, reason="the best plan for other domains"),
    Rival(domains=("r4",), cost=None, reason="j000009 stays"),
)


def a_plan(victim: str, job: str = "", **changed: Any) -> Plan:
    """Four nodes of r1 move to r2, which empties r1."""
    left, taken = FREED[:4], tuple(f"r2-n{number:02d}" for number in range(1, 5))
    to = SliceAssignment(domain="r2", nodes=taken)
    move = PlanMove(job=victim, generation=1, slice=0, domain="r1", nodes=left, to=to, cost=10_800, lost=3_600)
    usual: dict[str, Any] = {
        "aim": PlanAim.JOB if job else PlanAim.DOMAINS,
        "job": job,
        "domains": ("r1",),
        "nodes": FREED,
        "moves": (move,),
        "cost": 10_800,
        "bound": 10_800,
        "slice_only": 7_200,
        "rivals": RIVALS,
        "solver": "highs",
        "status": "optimal",
        "seconds": 0.5,
        "at_seq": live(NAME).catch_up().seq,
        "at": 10**15,
    }
    return Plan(**usual | changed)


def propose(victim: str, job: str = "", reason: str = "topology-blocked for 2 min", **changed: Any) -> str:
    """The id of a plan that waits for a decision."""
    report(DefragPlanned(proposal=a_plan(victim, job, **changed), reason=reason))
    return plan_id(live(NAME).catch_up().seq)

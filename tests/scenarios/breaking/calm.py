"""After all that happened: new nodes, a plain policy, an engine that obeys. Then everything that can run runs and ends."""

from __future__ import annotations

from clusters.domain import job_events as ev
from clusters.domain.commands import ChangePolicy, ResetBreaker, SetRackState
from clusters.domain.ids import HOUR
from clusters.domain.inventory_events import ClockSet, NodeRemoved
from clusters.domain.jobs import TERMINAL, JobState
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.why import why
from tests.scenarios.breaking.engine import Engine
from tests.scenarios.breaking.ground import Ground
from tests.support.world import Spec, inventory

#: Rounds of work after which nothing is left to do.
MOST_ROUNDS = 80

#: Why a job may wait for ever: it cannot fit, or waits for another or for somebody.
FOR_EVER = ("infeasible", "held")


def come_to_rest(ground: Ground, engine: Engine, specs: list[Spec]) -> None:
    """Raises AssertionError with the jobs that wait although nothing keeps them."""
    _mend(ground, specs)
    for _ in range(MOST_ROUNDS):
        while engine.catch_up() or ground.settle():
            pass
        running = [job for job in ground.state.jobs.values() if job.state is JobState.RUNNING]
        for job in running:
            nodes = tuple(job.held_nodes)
            ground.tell(ev.JobFinished(job=job.id, generation=job.generation), source="engine")
            ground.tell(ev.WorkStopped(job=job.id, generation=job.generation, nodes=nodes), source="engine")
        if not running and not _wait(ground):
            break
    state = ground.state
    left = {name: why(state, job, ground.now) for name, job in state.jobs.items() if job.state not in TERMINAL}
    stuck = [f"{name} is {told.state}: {told.text}" for name, told in left.items() if told.code not in FOR_EVER]
    assert not stuck, f"nothing keeps these jobs, and they do not run: {stuck}"


def _mend(ground: Ground, specs: list[Spec]) -> None:
    ground.tell(ClockSet(wall=ground.wall, cluster_time=ground.now, speed=1.0), source="user:op")
    ground.tell(*(NodeRemoved(node=name, reason="scrapped") for name in list(ground.state.nodes)), source="user:op")
    ground.tell(*inventory(specs), source="import")
    for name, rack in list(ground.state.racks.items()):
        if rack.service.state is not RackState.OPEN:
            ground.do(SetRackState(rack=name, state=RackState.OPEN, by="op"), "user:op")
    ground.do(ResetBreaker(by="op"), "user:op")
    ground.do(ChangePolicy(policy=Policy(), expected=ground.state.policy_version, by="op", reason="calm"), "user:op")


def _wait(ground: Ground) -> bool:
    """Until the pass has something to do; whether there is such a time."""
    due = next_deadline(ground.state, ground.now)
    if due is None:
        return False
    ground.wall = max(ground.wall + HOUR, ground.state.clock.wall_for(due) + 1)
    return True

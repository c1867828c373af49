"""Whatever runs, fails and waits: a what-if leaves the state as it is, gives the same answer again, and what it says comes true."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain.commands import NodeVerb
from clusters.domain.dump import dump_state
from clusters.domain.ids import MINUTE
from clusters.domain.jobs import QUEUED
from clusters.domain.policy import Policy
from clusters.domain.teams import Quota
from scheduling.domain.counterfactuals import counterfactuals
from scheduling.domain.stalls import is_stalled
from tests.domain.scheduling.counterfactuals.applying import comes_true
from tests.support.world import World, ask, racks

REQUESTS = st.builds(
    ask,
    st.integers(1, 24),
    priority=st.sampled_from((0, 0, 5)),
    restartable=st.booleans(),
    team=st.sampled_from(("red", "blue")),
    time_limit_s=st.sampled_from((None, 600, 3600)),
)
POLICIES = st.sampled_from((Policy(), Policy(slice_size=8, min_spares=1), Policy(quotas=(Quota(team="red", gpus=96, borrow=8),))))


def seen(world: World) -> Any:
    """All that the fold keeps, and the dense state beside it."""
    space = world.state.space
    return copy.deepcopy((dump_state(world.state), {name: getattr(space, name) for name in space.COMPARED}))


@given(POLICIES, st.lists(REQUESTS, min_size=4, max_size=10), st.lists(st.integers(0, 53), max_size=8, unique=True))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_answers_leave_no_trace_and_come_true(policy: Policy, requests: list[Any], failures: list[int]) -> None:
    world = World(racks(3), policy, checked=False)
    for request in requests:
        world.submit(request)
        world.settle()
        world.now += MINUTE
    for index in failures:
        world.mark(world.state.topology.nodes[index].name, NodeVerb.FAIL)
    world.settle()
    stalled = [job for job in world.state.jobs.values() if is_stalled(job)]
    waiting = [*stalled[:2], *(job for job in world.state.jobs.values() if job.state in QUEUED)][:3]
    before = seen(world)
    answers = [(job.id, counterfactuals(world.state, job, world.now)) for job in waiting]
    assert [(job.id, counterfactuals(world.state, job, world.now)) for job in waiting] == answers
    assert seen(world) == before
    for name, found in answers:
        for each in found:
            assert comes_true(world, name, each), each

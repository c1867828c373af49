"""What new quotas would mean, in counts: who would be held, and what goes on above them."""

from __future__ import annotations

from clusters.domain.dump import dump_state
from clusters.domain.policy import Policy
from clusters.domain.teams import Quota
from scheduling.domain.policy_commands import outlook
from tests.support.world import World, ask, racks


def test_an_outlook_counts_whom_quotas_hold_and_what_goes_on_above_them() -> None:
    world = World(racks(4))
    for team, nodes in (("a", 12), ("a", 4), ("b", 8)):
        world.run(ask(nodes, team=team))
    for team in ("a", "b", "c"):
        world.submit(ask(60, team=team))
    world.settle()
    before = dump_state(world.state)
    told = outlook(world.state, Policy(quotas=(Quota(team="a", gpus=40, borrow=0), Quota(team="b", gpus=400, borrow=0))), 0)
    assert (told.held, told.above_quota, told.borrowed_gpus) == (1, 2, 64 - 40)
    none = outlook(world.state, Policy(), 0)
    assert (none.held, none.above_quota, none.borrowed_gpus) == (0, 0, 0)
    assert dump_state(world.state) == before

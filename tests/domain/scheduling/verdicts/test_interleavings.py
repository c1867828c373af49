"""Failures, recoveries, repeats and late signals in any order, on a cluster that runs: the invariants hold at each position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.dump import dump_state, load_state
from clusters.domain.events import Payload, PolicyActivated
from clusters.domain.health_events import NodeChecked, NodeReleased, RepairFinished, RepairStarted
from clusters.domain.ids import MILLISECOND, MINUTE, SECOND
from clusters.domain.incident_events import BreakerReset
from clusters.domain.job_events import JobPlaced, NodeSwapped, SliceMoved
from clusters.domain.policy import Policy
from scheduling.domain.verdicts.judge import judge
from tests.support.signals import lasting, nvlink, off_bus, soft, unreachable, well
from tests.support.world import World, ask, racks

NODES = [f"r{rack}-n{number}" for rack in (1, 2, 3) for number in (1, 2, 3, 4)]
SIGNALS: dict[str, Callable[[str], Payload]] = {
    "off_bus": off_bus,
    "nvlink": nvlink,
    "soft": soft,
    "lasting": lasting,
    "unreachable": unreachable,
    "bus_again": lambda node: well(off_bus(node)),
    "link_again": lambda node: well(nvlink(node)),
    "well": lambda node: well(lasting(node)),
    "reached": lambda node: well(unreachable(node)),
    "repair": lambda node: RepairStarted(node=node, reason="ticket"),
    "repaired": lambda node: RepairFinished(node=node, reason="ticket"),
    "passed": lambda node: NodeChecked(node=node, number=1, passed=True),
    "not_passed": lambda node: NodeChecked(node=node, number=1, passed=False, detail="no link"),
    "again": lambda node: NodeChecked(node=node, number=2, passed=False, detail="no link"),
    "vouch": lambda node: NodeReleased(node=node, reason="looked"),
    "trust": lambda _: activated(check=False),
    "doubt": lambda _: activated(check=True),
    "reset": lambda _: BreakerReset(by="ada", reason="looked"),
}
PEOPLE = ("reset", "repair", "repaired", "vouch", "trust", "doubt")
GAPS = (0, 0, 200 * MILLISECOND, SECOND, MINUTE, 10 * MINUTE, -30 * SECOND)

SOURCES = st.sampled_from(("signal:a", "signal:b"))


def activated(*, check: bool) -> PolicyActivated:
    return PolicyActivated(version=2, policy=replace(POLICY, check_repaired=check), reason="", by="ada")


steps = st.lists(
    st.tuples(st.sampled_from(sorted(SIGNALS)), st.sampled_from(NODES), SOURCES, st.sampled_from(GAPS), st.booleans()),
    min_size=1,
    max_size=25,
)
POLICY = Policy(slice_size=3, target_spares=1, soft_signals=2, unreachable_limit_s=60, recovery_quiet_s=30)


@settings(max_examples=60)
@given(steps)
def test_the_invariants_hold_at_each_position(story: list[tuple[str, str, str, int, bool]]) -> None:
    told = World(racks(4, nodes=4, per_block=2), POLICY)
    told.checks = False  # the story answers them
    for size in (3, 6, 2):
        told.run(ask(size))
    now = told.now
    for kind, node, source, gap, passes in story:
        now = max(now, now + gap)
        told.now = max(0, now + min(0, gap))  # late signals are of a time before
        told.add(SIGNALS[kind](node), source="user:ada" if kind in PEOPLE else source)
        told.now = now
        if passes:
            settle(told)
    settle(told)
    assert judge(told.state, told.now) == []  # nothing is left to be said
    assert dump_state(load_state(dump_state(told.state))) == dump_state(told.state)


def settle(told: World) -> None:
    """No signal comes meanwhile, and no check is answered, so what gets work is well before and after."""
    for event in told.settle():
        for name in given_nodes(event):
            assert told.state.nodes[name].in_service, event


def given_nodes(event: Payload) -> tuple[str, ...]:
    match event:
        case NodeSwapped():
            return (event.new,)
        case SliceMoved():
            return event.assignment.nodes
        case JobPlaced():
            return tuple(name for part in event.slices for name in part.nodes)
    return ()

"""Verdicts on single nodes: at once, k of n, out of reach, taken back, flapping."""

from __future__ import annotations

from clusters.domain.books import Condition
from clusters.domain.commands import NodeVerb
from clusters.domain.dump import dump_state, load_state
from clusters.domain.health import SCHEDULER, Flag
from clusters.domain.health_events import NodeFailed, NodeQuarantined, NodeRecovered, NodeSuspected, NodeUnreachable, RepairFinished
from clusters.domain.ids import DAY, HOUR, MINUTE, SECOND
from clusters.domain.inventory_events import NodeRemoved
from clusters.domain.job_events import NodeSwapped
from clusters.domain.policy import Policy
from clusters.domain.signals import SignalKind
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.verdicts.flapping import lemon_score
from tests.support.signals import lasting, off_bus, soft, unreachable, well
from tests.support.world import World, ask, racks

NODE = "r1-n1"


def world(count: int = 3, **policy: int) -> World:
    return World(racks(count), Policy(**policy))  # type: ignore[arg-type]


def condition(told: World, node: str = NODE) -> Condition:
    return told.state.nodes[node].condition


def test_a_fatal_signal_of_a_node_swaps_it_at_once_and_quotes_what_was_said() -> None:
    told = world()
    job = told.run(ask(16))
    node = job.slices[0].nodes[3]
    assert node is not None
    told.add(off_bus(node), source="signal:agent")
    events = told.settle()
    failed = next(event for event in events if isinstance(event, NodeFailed))
    assert (failed.node, failed.fencing, failed.reason) == (node, True, "GPU fell off the bus")
    assert failed.evidence == (f"signal:agent: xid:79 gpu 1 GPU fell off the bus (event {told.state.nodes[node].signals[0].seq})",)
    assert [event.old for event in events if isinstance(event, NodeSwapped)] == [node]


def test_soft_signals_need_the_policys_number_within_its_time() -> None:
    told = world(soft_signals=3, soft_window_s=60)
    for number in range(2):
        told.add(soft(NODE, number), source="signal:agent")
        assert told.run_pass() == []
    told.now = 61 * SECOND
    told.add(soft(NODE, 2), source="signal:agent")
    assert told.run_pass() == []  # the first two are too old by now
    told.add(soft(NODE, 3), soft(NODE, 4), source="signal:agent")
    (event,) = told.run_pass()
    assert isinstance(event, NodeSuspected)
    assert len(event.evidence) == 3
    assert condition(told) is Condition.SUSPECT


def test_a_lasting_doubt_holds_until_it_is_taken_back_and_quiet_since_the_last_bad_signal() -> None:
    told = world(recovery_quiet_s=300)
    told.add(lasting(NODE), source="signal:k8s")
    told.run_pass()
    assert condition(told) is Condition.SUSPECT
    told.now = MINUTE
    told.add(well(lasting(NODE)), source="signal:k8s")
    assert told.run_pass() == []
    assert next_deadline(told.state, told.now) == 5 * MINUTE  # of the bad signal, not of the good one
    told.now = 5 * MINUTE
    (event,) = told.run_pass()
    assert isinstance(event, NodeRecovered)
    assert event.flags == (Flag.SUSPECT,)
    assert condition(told) is Condition.HEALTHY
    assert told.state.watched == set()


def test_what_one_source_takes_back_leaves_what_another_said() -> None:
    told = world(recovery_quiet_s=0)
    told.add(lasting(NODE), source="signal:a")
    told.add(lasting(NODE), source="signal:b")
    told.run_pass()
    told.add(well(lasting(NODE)), source="signal:a")
    assert told.run_pass() == []
    told.add(well(lasting(NODE)), source="signal:b")
    told.run_pass()
    assert condition(told) is Condition.HEALTHY


def test_a_failure_is_never_taken_back_by_silence_but_by_word_or_repair() -> None:
    told = world(recovery_quiet_s=60)
    for node in ("r1-n1", "r1-n2"):
        told.add(off_bus(node), source="signal:agent")
    told.run_pass()
    told.now = 30 * DAY
    assert told.run_pass() == []
    told.add(well(off_bus("r1-n1")), source="signal:agent")
    told.add(RepairFinished(node="r1-n2", reason="tray swapped"))
    told.settle()
    assert {condition(told, "r1-n1"), condition(told, "r1-n2")} == {Condition.HEALTHY}


def test_a_failure_outlives_a_storm_that_pushes_its_evidence_out() -> None:
    told = World(racks(1), Policy(recovery_quiet_s=0, soft_signals=100), checked=False)
    told.add(off_bus(NODE), source="signal:agent")
    told.run_pass()
    for number in range(100):
        told.now += MINUTE
        told.add(soft(NODE, number), source="signal:agent")
    assert not any(heard.kind is SignalKind.FATAL for heard in told.state.nodes[NODE].signals)
    told.now += DAY
    told.settle()
    assert condition(told) is Condition.FAILED


def test_a_node_out_of_reach_keeps_its_work_until_the_limit() -> None:
    told = world(unreachable_limit_s=300, recovery_quiet_s=0)
    job = told.run(ask(16))
    node = job.slices[0].nodes[0]
    assert node is not None
    told.add(unreachable(node), source="signal:monitor")
    told.settle()
    assert (condition(told, node), job.slices[0].nodes[0], job.swaps) == (Condition.UNKNOWN, node, 0)
    assert next_deadline(told.state, told.now) == 300 * SECOND
    told.now = 300 * SECOND
    events = told.settle()
    assert [event.reason for event in events if isinstance(event, NodeFailed)] == ["out of reach for 300 s"]
    assert job.swaps == 1
    told.now = HOUR
    told.add(well(unreachable(node)), source="signal:monitor")
    told.settle()
    assert condition(told, node) is Condition.HEALTHY


def test_a_node_without_work_stays_out_of_reach_and_is_not_failed() -> None:
    told = world(unreachable_limit_s=60)
    told.add(unreachable(NODE), source="signal:monitor")
    told.settle()
    told.now = DAY
    assert told.settle() == []
    assert condition(told) is Condition.UNKNOWN


def test_an_importer_that_cannot_reach_a_node_counts_against_the_limit_too() -> None:
    told = world(unreachable_limit_s=60)
    job = told.run(ask(16))
    node = job.slices[0].nodes[0]
    assert node is not None
    told.add(NodeUnreachable(node=node, reason="Ready is Unknown"), source="import")
    told.now = 61 * SECOND
    told.settle()
    assert job.swaps == 1


def test_flapping_ends_in_quarantine_until_a_person_says_otherwise() -> None:
    told = world(flap_verdicts=3, flap_window_h=24, recovery_quiet_s=0)
    for hour in (1, 2, 3):
        told.now = hour * HOUR
        told.add(lasting(NODE), source="signal:k8s")
        events = told.run_pass()
        told.add(well(lasting(NODE)), source="signal:k8s")
        told.run_pass()
    quarantine = events[-1]
    assert isinstance(quarantine, NodeQuarantined)
    assert (quarantine.owner, quarantine.reason) == ("policy", "taken out 3 times within 24 h")
    assert condition(told) is Condition.QUARANTINED
    told.now = 30 * DAY
    assert told.run_pass() == []
    told.mark(NODE, NodeVerb.RELEASE)
    told.add(lasting(NODE), source="signal:k8s")
    assert [type(event) for event in told.run_pass()] == [NodeSuspected]  # what was before the release does not count
    assert lemon_score(told.state.nodes[NODE], told.now) > lemon_score(told.state.nodes["r1-n2"], told.now) == 0


def test_one_occasion_counts_once_though_it_has_two_flags() -> None:
    told = world()
    told.add(lasting(NODE), unreachable(NODE), off_bus(NODE), source="signal:a")
    told.settle()
    assert len(told.state.nodes[NODE].verdicts) == 1


def test_what_another_system_says_of_a_node_is_shown_as_such() -> None:
    told = world(recovery_quiet_s=0)
    for kind, expected in (
        (SignalKind.QUARANTINED, Condition.QUARANTINED),
        (SignalKind.DRAINING, Condition.DRAINING),
        (SignalKind.DEGRADED, Condition.DEGRADED),
    ):
        told.add(lasting(NODE, kind), source="signal:nvsentinel")
        told.run_pass()
        assert condition(told) is expected
        told.add(well(lasting(NODE, kind)), source="signal:nvsentinel")
        told.run_pass()
        assert condition(told) is Condition.HEALTHY


def test_a_drain_of_a_person_is_not_ended_by_a_signal_that_is_taken_back() -> None:
    told = world(recovery_quiet_s=0)
    told.mark(NODE, NodeVerb.DRAIN)
    told.add(lasting(NODE, SignalKind.DRAINING), source="signal:k8s")
    told.run_pass()
    told.add(well(lasting(NODE, SignalKind.DRAINING)), source="signal:k8s")
    told.run_pass()
    assert condition(told) is Condition.DRAINING
    assert not any(mark.on for (_, source), mark in told.state.nodes[NODE].marks.items() if source == SCHEDULER)


def test_verdicts_survive_a_dump() -> None:
    told = world()
    told.add(off_bus(NODE), soft("r2-n1"), source="signal:a")
    told.run_pass()
    again = load_state(dump_state(told.state))
    assert dump_state(again) == dump_state(told.state)
    assert again.watched == told.state.watched == {NODE, "r2-n1"}


def test_a_node_that_is_removed_is_watched_no_more() -> None:
    told = world(2)
    told.add(off_bus(NODE), source="signal:a")
    told.run_pass()
    told.add(NodeRemoved(node=NODE, reason="sold"))
    told.add(*(off_bus(f"r1-n{number}") for number in range(2, 18)), source="signal:a")
    told.run_pass()
    assert NODE not in told.state.watched


def test_a_doubt_that_grows_too_old_is_taken_back_in_time_though_nothing_comes() -> None:
    told = world(soft_signals=3, soft_window_s=600, recovery_quiet_s=300)
    told.now = SECOND
    told.add(*(soft(NODE, number) for number in range(3)), source="signal:a")
    told.settle()
    assert condition(told) is Condition.SUSPECT
    deadline = next_deadline(told.state, told.now)
    assert deadline == 601 * SECOND
    told.now = deadline
    assert [type(event) for event in told.run_pass()] == [NodeRecovered]

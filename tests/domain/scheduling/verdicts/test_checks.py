"""Back into service: a repaired node is checked before it takes work, and goes to a short slice first once it has passed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusters.domain.books import Condition, Use
from clusters.domain.books_of import read_books
from clusters.domain.commands import ChangePolicy, MarkNode, NodeVerb, RunPass
from clusters.domain.decision import Decision, Refusal
from clusters.domain.dump import dump_state, load_state
from clusters.domain.events import Payload, PolicyActivated
from clusters.domain.health import Flag
from clusters.domain.health_events import (
    NodeChecked,
    NodeCheckRequested,
    NodeFailed,
    NodeRecovered,
    NodeReleased,
    NodeUnreachable,
    RepairFinished,
    RepairStarted,
)
from clusters.domain.ids import MINUTE
from clusters.domain.inventory_events import NodeRemoved
from clusters.domain.job_events import JobBlocked, NodeSwapped, SliceStalled
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.state import NO_ENGINE, Node
from scheduling.domain.decide import decide
from scheduling.domain.refusals import explain
from tests.support.world import World, ask, racks

NODE = "r1-n1"


def world(policy: Policy | None = None, **fields: bool) -> World:
    """Racks whose connector answers no check by itself."""
    made = World(racks(1), policy, **fields)
    made.checks = False
    return made


def repaired(told: World, node: str = NODE) -> Node:
    told.add(NodeFailed(node=node, reason="dead", fencing=True), RepairFinished(node=node, reason="new tray"))
    return told.state.nodes[node]


def kinds(events: list[Payload]) -> list[type]:
    return [type(event) for event in events]


def test_a_repaired_node_takes_no_work_until_its_check_has_passed() -> None:
    told = world()
    told.now = MINUTE
    node = repaired(told)
    assert (node.condition, node.unchecked, node.placeable) == ("healthy", MINUTE, False)
    books = read_books(told.state)
    assert (books.condition[Condition.HEALTHY], books.use[Use.OUT]) == (18, 1)
    assert told.run_pass() == [NodeCheckRequested(node=NODE, number=1)]
    told.submit(ask(18))
    (blocked,) = told.run_pass()
    assert isinstance(blocked, JobBlocked)
    assert "; 1 node waiting for a check; " in explain(Refusal(code=blocked.code, counts=blocked.counts))
    told.add(NodeChecked(node=NODE, number=1, passed=True, detail="all tests"))
    assert (node.unchecked, node.placeable) == (None, True)
    assert [kind.__name__ for kind in kinds(told.run_pass())] == ["JobPlaced"]


def test_a_check_is_asked_for_once_and_anew_after_the_next_repair() -> None:
    told = world()
    repaired(told)
    assert told.run_pass() == [NodeCheckRequested(node=NODE, number=1)]
    assert told.run_pass() == []
    repaired(told)
    assert told.run_pass() == [NodeCheckRequested(node=NODE, number=2)]
    told.add(NodeChecked(node=NODE, number=1, passed=True))  # of the repair before
    assert told.state.nodes[NODE].unchecked is not None
    told.add(NodeChecked(node=NODE, number=2, passed=True))
    assert told.state.nodes[NODE].placeable


def test_many_checks_are_asked_for_in_order_of_names() -> None:
    told = world()
    for node in ("r1-n3", "r1-n12", "r1-n2"):
        repaired(told, node)
    assert told.run_pass() == [NodeCheckRequested(node=node, number=1) for node in ("r1-n12", "r1-n2", "r1-n3")]


def test_an_answer_that_comes_before_the_request_is_of_nothing() -> None:
    told = world()
    node = repaired(told)
    told.add(NodeChecked(node=NODE, number=0, passed=True), NodeChecked(node=NODE, number=1, passed=False))
    assert node.unchecked is not None
    assert node.condition == "healthy"


def test_a_node_that_does_not_pass_has_failed_until_it_is_repaired_and_checked_again() -> None:
    told = world()
    node = repaired(told)
    told.run_pass()
    told.add(NodeChecked(node=NODE, number=1, passed=False, detail="link 3 is down"))
    assert (node.condition, node.unchecked, node.failures) == ("failed", None, 2)
    (mark,) = [mark for (flag, _), mark in node.marks.items() if flag is Flag.FAILED and mark.on]
    assert mark.reason == "did not pass its check: link 3 is down"
    assert mark.evidence == (f"fleet: link 3 is down (event {told.state.seq})",)
    told.add(NodeRecovered(node=NODE, reason="its process was started anew"))
    assert node.condition == "failed"  # nobody has mended anything
    assert told.run_pass() == []
    told.add(RepairFinished(node=NODE, reason="new cable"))
    assert node.condition == "healthy"
    assert told.run_pass() == [NodeCheckRequested(node=NODE, number=2)]


def test_a_node_that_is_out_again_before_its_check_is_to_be_repaired_and_checked_anew() -> None:
    told = world()
    for again in (NodeFailed(node=NODE, reason="dead again"), RepairStarted(node=NODE, reason="forgot a screw")):
        node = repaired(told)
        told.add(again)
        assert node.unchecked is None
        assert told.run_pass() == []
    node = repaired(told)
    told.run_pass()
    told.add(NodeFailed(node=NODE, reason="dead again", fencing=True), NodeChecked(node=NODE, number=1, passed=True))
    assert node.condition == "failed"


def test_other_doubts_stay_beside_the_wait() -> None:
    told = world()
    node = repaired(told)
    told.run_pass()
    told.add(NodeUnreachable(node=NODE, reason="no answer"), source="monitor")
    assert node.unchecked is not None
    told.add(NodeChecked(node=NODE, number=1, passed=True))
    assert (node.condition, node.placeable) == ("unknown", False)


def test_a_person_can_vouch_for_a_node_instead() -> None:
    told = world()
    node = repaired(told)
    told.run_pass()
    told.add(NodeReleased(node=NODE, reason="not listed any more"), source="import")
    assert node.unchecked is not None  # no person says so
    told.mark(NODE, NodeVerb.RELEASE)
    assert node.placeable
    outcome = told.mark(NODE, NodeVerb.RELEASE)
    assert isinstance(outcome, Refusal)
    told.add(NodeChecked(node=NODE, number=1, passed=False, detail="late"))
    assert node.placeable


def test_the_policy_says_whether_repaired_nodes_are_checked() -> None:
    told = world(Policy(check_repaired=False))
    assert repaired(told).placeable
    assert told.run_pass() == []


def test_a_policy_that_asks_for_no_checks_ends_all_that_are_waited_for() -> None:
    told = world()
    nodes = [repaired(told, node) for node in ("r1-n1", "r1-n2")]
    told.run_pass()
    late = repaired(told, "r1-n3")
    policy = replace(told.state.policy, check_repaired=False)
    outcome = told.do(ChangePolicy(policy=policy, expected=1, by="ada", reason="no test program"))
    assert kinds(list(outcome.events if isinstance(outcome, Decision) else ())) == [PolicyActivated]
    assert all(node.placeable for node in (*nodes, late))
    assert told.run_pass() == []


def test_nothing_is_checked_where_no_engine_can_be_asked() -> None:
    told = world()
    told.state.connector = NO_ENGINE
    assert repaired(told).placeable
    assert told.run_pass() == []


def test_a_repair_of_what_was_not_broken_asks_for_nothing() -> None:
    told = world()
    told.add(RepairFinished(node=NODE, reason="told twice"))
    assert told.state.nodes[NODE].placeable
    node = repaired(told)
    told.run_pass()
    told.add(RepairFinished(node=NODE, reason="told twice"))
    assert told.run_pass() == []
    told.add(NodeChecked(node=NODE, number=1, passed=True))
    assert node.placeable


def test_a_repair_that_leaves_the_node_failed_by_what_came_later_is_none() -> None:
    told = world()
    told.now = MINUTE
    told.add(NodeFailed(node=NODE, reason="dead", fencing=True))
    told.now = 0  # the report is late: the node failed again after that repair
    told.add(RepairFinished(node=NODE))
    assert told.state.nodes[NODE].condition == "failed"
    assert told.run_pass() == []


def test_a_removed_node_waits_for_nothing() -> None:
    told = world()
    repaired(told)
    told.add(NodeRemoved(node=NODE, reason="sold"))
    assert told.run_pass() == []
    told.add(NodeCheckRequested(node=NODE, number=1), NodeChecked(node=NODE, number=1, passed=True))


def test_work_that_never_left_a_node_stays_while_it_is_checked() -> None:
    told = world()
    job = told.run(ask(2))
    told.add(NodeFailed(node=NODE, reason="perhaps"), RepairFinished(node=NODE))  # no fencing: nobody says that its work has stopped
    assert job.slices[0].nodes == ["r1-n1", "r1-n2"]
    told.run_pass()
    told.add(NodeChecked(node=NODE, number=1, passed=True))
    assert job.state is JobState.RUNNING


def test_a_node_that_has_passed_goes_first_to_a_short_slice() -> None:
    told = world()
    job = told.run(ask(18))
    told.add(NodeFailed(node=NODE, reason="dead", fencing=True))
    told.submit(ask(1, priority=1000))
    assert SliceStalled in kinds(told.settle())
    told.add(RepairFinished(node=NODE))
    assert kinds(told.settle()) == [NodeCheckRequested]
    assert job.state is JobState.STALLED
    told.add(NodeChecked(node=NODE, number=1, passed=True))
    assert kinds(told.settle()) == [NodeSwapped]
    assert job.slices[0].nodes[0] == NODE


@pytest.mark.parametrize("asked", [False, True])
def test_a_state_that_was_put_away_knows_who_waits_and_who_was_asked(asked: bool) -> None:
    told = world()
    repaired(told)
    if asked:
        told.run_pass()
    again = load_state(dump_state(told.state))
    assert again.unasked == told.state.unasked == (set() if asked else {NODE})
    assert dump_state(again) == dump_state(told.state)
    outcome = decide(again, RunPass(), told.now)
    assert isinstance(outcome, Decision)
    assert list(outcome.events) == ([] if asked else [NodeCheckRequested(node=NODE, number=1)])


def test_an_operator_who_says_repaired_starts_a_check_too() -> None:
    told = world()
    told.mark(NODE, NodeVerb.FAIL)
    told.mark(NODE, NodeVerb.REPAIR)
    assert told.run_pass() == [NodeCheckRequested(node=NODE, number=1)]
    refused = told.do(MarkNode(node=NODE, verb=NodeVerb.REPAIR, by="op"))
    assert isinstance(refused, Refusal)

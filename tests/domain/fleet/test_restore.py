"""A fleet that is made anew from its log goes on as if it had never stopped."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.connectors.simulated.options import REPAIR_FLAT, FleetOptions
from clusters.domain.commands import CancelJob, Command, MarkNode, NodeVerb, SubmitJob
from clusters.domain.decision import Refusal
from clusters.domain.events import Event, NewEvent
from clusters.domain.ids import DAY, HOUR, MINUTE, SECOND
from clusters.domain.inventory_events import Arrival, ArrivalsPlanned
from clusters.domain.jobs import Recovery
from clusters.eventlog.request import Request
from scheduling.domain.decide import decide
from tests.domain.fleet.stage import NAME, START, Stage, ask

STORMY = FleetOptions(seed=3, failures_per_node_day=1.5, repair_model=REPAIR_FLAT, repair_mean_h=6, bad_repairs=0.3)

#: What happens between steps of the fleet, by what people do.
Deed = tuple[str, int]
DEEDS = st.tuples(st.sampled_from(["step", "step", "step", "submit", "cancel", "fail", "repair", "release"]), st.integers(0, 35))
SIZES = (16, 20, 4, 2, 1)


def act(stage: Stage, number: int, deed: Deed) -> None:
    what, which = deed
    if what == "step":
        stage.step()
        return
    by, node = "ada", f"r{which // 18 + 1:03d}-n{which % 18 + 1:02d}"
    with stage.log.live(NAME).reading() as state:
        jobs = sorted(state.jobs)
    recovery = Recovery.PEER if which % 2 else Recovery.CHECKPOINT
    commands: dict[str, Command] = {
        "submit": SubmitJob(request=ask(SIZES[which % 5], run_s=3600 * (1 + which), recovery=recovery), by=by),
        "cancel": CancelJob(job=jobs[which % len(jobs)] if jobs else "none", by=by),
        "fail": MarkNode(node=node, verb=NodeVerb.FAIL, by=by),
        "repair": MarkNode(node=node, verb=NodeVerb.REPAIR, by=by),
        "release": MarkNode(node=_in_doubt(stage) or node, verb=NodeVerb.RELEASE, by=by),
    }
    outcome = stage.log.commit(NAME, Request(command=commands[what], source="user:ada", request_id=f"deed/{number}"), decide)
    if not isinstance(outcome, Refusal):
        stage.run_pass()


def _in_doubt(stage: Stage) -> str:
    """A node that waits for its check."""
    with stage.log.live(NAME).reading() as state:
        return min((node.name for node in state.nodes.values() if node.unchecked is not None), default="")


def content(events: list[Event]) -> list[tuple[object, ...]]:
    return [(event.seq, event.occurred_at, event.payload, event.source, event.source_id) for event in events]


def planned(stage: Stage) -> None:
    items = tuple(
        Arrival(row=row, offset=row * 7 * MINUTE, request=ask(1 + row % 3, run_s=None), duration=(1 + row) * HOUR // 2, outcome=outcome)
        for row, outcome in enumerate(["finished", "failed", "cancelled"] * 8)
    )
    for part in (items[:10], items[10:]):
        plan = ArrivalsPlanned(plan="trace", base=START + MINUTE, items=part)
        stage.log.append_facts(NAME, [NewEvent(plan, START, "trace:1", str(part[0].row))])


@settings(max_examples=60)
@given(st.lists(DEEDS, max_size=60), st.sets(st.integers(0, 60)))
def test_restarts_at_any_points_leave_no_trace_in_the_log(deeds: list[Deed], restarts: set[int]) -> None:
    steady, restarted = Stage(2, STORMY), Stage(2, STORMY)
    for stage in (steady, restarted):
        planned(stage)
        for number in range(2):
            act(stage, 1000 + number, ("submit", 25))
    for number, deed in enumerate(deeds):
        act(steady, number, deed)
        act(restarted, number, deed)
        if number in restarts:
            restarted.restart()
    for stage in (steady, restarted):
        for _ in range(20):
            stage.step()
    assert content(restarted.events) == content(steady.events)


@pytest.mark.slow
def test_a_fleet_restarted_before_every_step_of_some_stormy_days_writes_the_same_log() -> None:
    steady, restarted = Stage(3, STORMY), Stage(3, STORMY)
    for stage in (steady, restarted):
        planned(stage)
        for number in range(30):
            act(stage, number, ("submit", number % 36))
    for _ in range(800):
        restarted.restart()
        for stage in (steady, restarted):
            head = stage.log.head(NAME)
            while stage.log.head(NAME) == head:  # a failure of a node that is down tells nothing
                stage.step()
    assert steady.driver.fleet.told_at > START + 2 * DAY
    assert content(restarted.events) == content(steady.events)


def test_a_job_that_lacks_a_node_still_lacks_it_after_a_restart() -> None:
    stage = Stage(1, FleetOptions(failures_per_node_day=0, repair_model=REPAIR_FLAT, repair_mean_h=1000))
    act(stage, 0, ("submit", 0))
    stage.play(START + MINUTE)
    for number, node in enumerate((0, 1, 2)):
        act(stage, number + 1, ("fail", node))
    stage.restart()
    stage.play(START + 2 * HOUR)
    assert stage.told("SliceStalled")
    assert stage.told("JobFinished", "WorkStopped") == []


def test_a_job_that_stood_still_between_its_loss_and_the_swap_has_not_come_further_after_a_restart() -> None:
    ends = []
    for restarts in (False, True):
        stage = Stage(1, FleetOptions(failures_per_node_day=0, repair_model=REPAIR_FLAT, repair_mean_h=1000))
        stage.do(SubmitJob(request=ask(16, run_s=5 * 3600, spares=0), by="ada"), "work")
        stage.do(SubmitJob(request=ask(2, run_s=3 * 3600 + 1800, spares=0), by="ada"), "rest")
        stage.play(START + HOUR)
        act(stage, 1, ("fail", 0))
        stage.play(START + 4 * HOUR)
        if restarts:
            stage.restart()
        stage.play(START + DAY)
        ends.append(stage.told("JobFinished"))
    assert len(ends[0]) == 2
    assert ends[0] == ends[1]


def test_each_planned_job_is_submitted_once_at_its_time_and_ends_as_it_is_fated_to() -> None:
    stage = Stage(2, FleetOptions(failures_per_node_day=0))
    planned(stage)
    for _ in range(500):
        stage.restart()
        if not stage.step():
            break
    submitted = stage.told("JobSubmitted")
    assert [at for at, _ in submitted] == [60 + row * 7 * 60 for row in range(24)]
    assert [len(stage.told(kind)) for kind in ("JobFinished", "JobFailed", "JobCancelled")] == [8, 8, 8]


def test_what_was_appended_by_a_fleet_that_died_before_it_knew_is_not_told_twice() -> None:
    stage = Stage(1, FleetOptions(failures_per_node_day=0))
    stage.do(SubmitJob(request=ask(2, run_s=60), by="ada"), "submit")
    stage.driver.follow()
    ghost = stage.driver
    stage.restart()
    stage.play(START + 20 * SECOND)
    before = len(stage.events)
    ghost.fleet.time = START + 20 * SECOND
    receipts = stage.log.append_facts(NAME, ghost.fleet.observe("").facts)
    assert [receipt.duplicate for receipt in receipts] == [True]
    assert len(stage.events) == before


@pytest.mark.parametrize("plan", ["demo", "other"])
def test_a_fleet_without_a_generator_leaves_foreign_arrivals_alone(plan: str) -> None:
    stage = Stage(1, FleetOptions(failures_per_node_day=0))
    item = Arrival(row=4, offset=0, request=ask(1), duration=HOUR, outcome="finished")
    stage.log.append_facts(NAME, [NewEvent(ArrivalsPlanned(plan=plan, base=START, items=(item,)), START, "x", "1")])
    stage.step()
    stage.restart()
    assert stage.driver.fleet.arrivals.left == 0

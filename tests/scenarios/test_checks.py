"""The way back into service, played on a simulated fleet: repaired, checked, then a spare or in a slice; or repaired once more."""

from __future__ import annotations

import pytest

from clusters.connectors.simulated.failures import is_unmended
from clusters.connectors.simulated.options import REPAIR_FLAT, FleetOptions
from clusters.domain.books import Use
from clusters.domain.books_of import domain_uses
from clusters.domain.commands import ChangePolicy, Command, MarkNode, NodeVerb, SubmitJob
from clusters.domain.events import NewEvent
from clusters.domain.health_events import NodeChecked, NodeCheckRequested, NodeFailed, RepairFinished
from clusters.domain.ids import DAY, HOUR
from clusters.domain.invariants import check
from clusters.domain.inventory_events import NodeRemoved
from clusters.domain.job_events import JobPlaced, NodeSwapped
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.eventlog.verify import verify
from scheduling.domain.decide import decide
from tests.domain.fleet.stage import NAME, START, Stage, ask
from tests.domain.scheduling.verdicts.test_interleavings import given_nodes

NODE = "r001-n01"
QUIET = FleetOptions(failures_per_node_day=0, repair_model=REPAIR_FLAT, repair_mean_h=1)
STEPS = ("NodeFailed", "RepairStarted", "RepairFinished", "NodeCheckRequested", "NodeChecked")


def with_work(options: FleetOptions, racks: int = 1) -> Stage:
    """A job of 16 on the first rack, which loses its first node."""
    stage = Stage(racks, options)
    stage.do(SubmitJob(request=ask(16, run_s=30 * 86_400), by="ada"), "submit")
    stage.play(START + HOUR)
    stage.do(MarkNode(node=NODE, verb=NodeVerb.FAIL, by="op"), "fail")
    return stage


def use_of(stage: Stage, node: str) -> Use:
    with stage.log.live(NAME).reading() as state:
        place = state.topology.index[node]
        domain = state.topology.domain_of[place]
        return domain_uses(state, domain)[place - state.topology.domains[domain].first]


def is_sound(stage: Stage) -> bool:
    with stage.log.live(NAME).reading() as state:
        return check(state) == [] and verify(stage.log, NAME, decide).differences == []


def test_a_repaired_node_passes_its_check_and_is_the_domains_spare() -> None:
    stage = with_work(QUIET)
    stage.play(START + 10 * DAY)
    told = stage.told(*STEPS)
    assert [type(payload).__name__ for _, payload in told] == list(STEPS)
    (repaired, _), (asked, request), (answered, answer) = told[2:]
    assert request == NodeCheckRequested(node=NODE, number=1)
    assert answer == NodeChecked(node=NODE, number=1, passed=True, detail="the fault is gone")
    assert (asked, answered) == (repaired, repaired + QUIET.check_s)
    assert use_of(stage, NODE) is Use.SPARE
    assert is_sound(stage)


def test_between_repair_and_check_the_node_is_out_though_nothing_is_wrong_with_it() -> None:
    stage = with_work(QUIET)
    while not stage.told("NodeCheckRequested"):
        assert stage.step()
    assert use_of(stage, NODE) is Use.OUT
    with stage.log.live(NAME).reading() as state:
        assert state.nodes[NODE].condition == "healthy"


def test_a_repair_that_left_the_fault_is_found_and_done_again_before_anything_runs_there() -> None:
    options = next(
        candidate
        for seed in range(1, 1_000)
        if is_unmended(candidate := FleetOptions(**{**QUIET.numbers(), "seed": seed, "bad_repairs": 0.5}), NODE, 1)  # type: ignore[arg-type]
        and not is_unmended(candidate, NODE, 2)
    )
    stage = with_work(options)
    stage.play(START + 20 * DAY)
    told = [payload for _, payload in stage.told("NodeChecked", "RepairFinished", "NodeFailed")]
    assert [type(payload) for payload in told] == [NodeFailed, RepairFinished, NodeChecked, RepairFinished, NodeChecked]
    assert [payload.passed for payload in told if isinstance(payload, NodeChecked)] == [False, True]
    assert use_of(stage, NODE) is Use.SPARE
    assert is_sound(stage)


def test_a_short_slice_gets_the_node_once_it_has_passed_and_not_before() -> None:
    stage = with_work(QUIET)
    for number in (2, 3):
        stage.do(MarkNode(node=f"r001-n{number:02d}", verb=NodeVerb.FAIL, by="op"), f"fail/{number}")
    job = next(payload.job for _, payload in stage.told("JobPlaced") if isinstance(payload, JobPlaced))
    while len(stage.told("NodeChecked")) < 3:
        assert stage.step()
    swaps = [(at, payload.new) for at, payload in stage.told("NodeSwapped") if isinstance(payload, NodeSwapped)]
    first = stage.told("NodeChecked")[0]
    assert isinstance(first[1], NodeChecked)
    assert (first[0], first[1].node) in swaps
    with stage.log.live(NAME).reading() as state:
        assert state.jobs[job].state in (JobState.PLACED, JobState.STARTING, JobState.RUNNING)
    assert is_sound(stage)


def test_a_node_that_is_removed_while_it_is_checked_is_not_heard_of_again() -> None:
    stage = with_work(QUIET)
    while not stage.told("NodeCheckRequested"):
        assert stage.step()
    stage.log.append_facts(NAME, [NewEvent(NodeRemoved(node=NODE, reason="sold"), stage.driver.clock.reading(stage.wall), "import", "1")])
    stage.play(START + 10 * DAY)
    assert stage.told("NodeChecked") == []
    assert is_sound(stage)


@pytest.mark.parametrize(
    "word",
    [
        MarkNode(node=NODE, verb=NodeVerb.RELEASE, by="op"),
        ChangePolicy(policy=Policy(check_repaired=False), expected=1, by="ada", reason="no test program"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_a_check_that_nobody_waits_for_any_more_is_not_answered(word: Command) -> None:
    stage = with_work(QUIET)
    while not stage.told("NodeCheckRequested"):
        assert stage.step()
    stage.do(word, "word")
    assert use_of(stage, NODE) is Use.SPARE
    stage.play(START + 10 * DAY)
    assert stage.told("NodeChecked") == []
    assert is_sound(stage)


def test_six_stormy_days_place_nothing_on_a_node_that_waits_for_its_check() -> None:
    options = FleetOptions(
        seed=5, failures_per_node_day=0.5, repair_model=REPAIR_FLAT, repair_mean_h=5, bad_repairs=0.4, check_s=4 * 3_600, generator=0
    )
    stage = Stage(2, options)
    for number in range(8):
        stage.do(SubmitJob(request=ask((16, 4, 2, 1)[number % 4], run_s=10 * 86_400), by="ada"), f"submit/{number}")
    stage.play(START + 6 * DAY)
    waits: set[str] = set()
    given = 0
    for event in stage.events:
        payload = event.payload
        if isinstance(payload, RepairFinished):
            waits.add(payload.node)
        elif isinstance(payload, NodeChecked | NodeFailed):
            waits.discard(payload.node)
        nodes = given_nodes(payload)
        given += len(nodes)
        assert waits.isdisjoint(nodes), event
    assert given > 50
    assert len(stage.told("NodeChecked")) > 10
    assert is_sound(stage)

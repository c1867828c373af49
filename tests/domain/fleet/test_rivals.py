"""What others append between the fleet's look at the log and its own append. The log says what came first, and the fleet follows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.connectors.simulated.options import REPAIR_FLAT, FleetOptions
from clusters.domain.books import Condition
from clusters.domain.commands import MarkNode, NodeVerb, SubmitJob
from clusters.domain.events import NewEvent
from clusters.domain.ids import DAY, HOUR
from clusters.domain.invariants import check
from clusters.domain.job_events import JobFinished
from clusters.eventlog.port import Receipt
from tests.domain.fleet.stage import NAME, START, Stage, ask
from tests.domain.fleet.test_restore import DEEDS, STORMY, Deed, act, content, planned

QUIET = FleetOptions(failures_per_node_day=0, repair_model=REPAIR_FLAT, repair_mean_h=6)


class Rivals:
    """Deeds that are done just before appends of the fleet, each before its own."""

    def __init__(self, stage: Stage, deeds: dict[int, Deed]) -> None:
        self._stage = stage
        self._deeds = dict(deeds)
        self._append = stage.log.append_facts
        self._appends = 0

    def append(self, cluster: str, facts: Sequence[NewEvent], guard: None = None) -> tuple[Receipt, ...]:
        self._appends += 1
        deed = self._deeds.pop(self._appends, None)
        if deed is not None:
            act(self._stage, 10_000 + self._appends, deed)
        return self._append(cluster, facts, guard)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with mock.patch.object(self._stage.log, "append_facts", self.append):
            yield


def running(stage: Stage, nodes: int) -> str:
    """A job that runs for an hour."""
    stage.do(SubmitJob(request=ask(nodes, run_s=3600), by="ada"), "submit")
    stage.step()
    with stage.log.live(NAME).reading() as state:
        (job,) = state.jobs
    return job


def test_an_end_told_after_a_swap_that_the_fleet_had_not_seen_is_told_again() -> None:
    stage = Stage(2, QUIET)
    job = running(stage, 16)
    with Rivals(stage, {1: ("fail", 0)}).at_work():
        stage.play(START + DAY)
    first, second = (payload for _, payload in stage.told("JobFinished"))
    assert isinstance(first, JobFinished)
    assert isinstance(second, JobFinished)
    assert first.generation < second.generation
    with stage.log.live(NAME).reading() as state:
        assert state.ended.keys() == {job}
        assert check(state) == []


def test_a_repair_begun_on_a_node_that_somebody_has_just_called_well_comes_to_an_end() -> None:
    stage = Stage(1, QUIET)
    stage.do(MarkNode(node="r001-n01", verb=NodeVerb.FAIL, by="op"), "fail")
    with Rivals(stage, {1: ("repair", 0)}).at_work():
        stage.step()
    stage.restart()
    stage.play(START + 30 * DAY)
    with stage.log.live(NAME).reading() as state:
        assert state.nodes["r001-n01"].condition is Condition.HEALTHY
    assert [kind for kind in ("RepairStarted", "RepairFinished") for _ in stage.told(kind)] == ["RepairStarted", *["RepairFinished"] * 2]


@pytest.mark.slow
@settings(max_examples=30)
@given(st.dictionaries(st.integers(1, 60), DEEDS, max_size=30), st.sets(st.integers(0, 80)))
def test_whoever_comes_between_every_job_ends_every_node_comes_back_and_a_restart_changes_nothing(
    deeds: dict[int, Deed], restarts: set[int]
) -> None:
    deeds = {append: deed for append, deed in deeds.items() if deed[0] != "step"}
    steady, restarted = Stage(2, QUIET), Stage(2, QUIET)
    for stage, stops in ((steady, set[int]()), (restarted, restarts)):
        planned(stage)
        with Rivals(stage, deeds).at_work():
            for number in range(80):
                stage.step()
                if number in stops:
                    stage.restart()
            stage.play(START + 60 * DAY)
    assert content(restarted.events) == content(steady.events)
    with steady.log.live(NAME).reading() as state:
        assert check(state) == []
        assert {job.id: job.state for job in state.jobs.values()} == {}
        assert {node.condition for node in state.nodes.values()} == {Condition.HEALTHY}


@pytest.mark.slow
@settings(max_examples=15)
@given(st.dictionaries(st.integers(1, 60), DEEDS, max_size=30))
def test_in_a_storm_too_no_invariant_breaks(deeds: dict[int, Deed]) -> None:
    stage = Stage(2, STORMY)
    planned(stage)
    with Rivals(stage, {append: deed for append, deed in deeds.items() if deed[0] != "step"}).at_work():
        stage.play(START + 12 * HOUR)
    with stage.log.live(NAME).reading() as state:
        assert check(state) == []


@pytest.mark.parametrize("nodes", [1, 4, 16, 32])
def test_a_cancellation_told_after_a_swap_leaves_nothing_behind(nodes: int) -> None:
    stage = Stage(2, QUIET)
    planned(stage)
    running(stage, nodes)
    with Rivals(stage, {append: ("fail", append % 36) for append in range(1, 40)}).at_work():
        stage.play(START + 60 * DAY)
    with stage.log.live(NAME).reading() as state:
        assert state.jobs == {}

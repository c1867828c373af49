"""Planned jobs, and jobs made up while few wait."""

from __future__ import annotations

from collections.abc import Collection

from clusters.connectors.base import Work
from clusters.connectors.simulated.options import FleetOptions
from clusters.connectors.simulated.truth import FINISHED, Truth, users_truth
from clusters.domain.commands import CancelJob
from clusters.domain.events import NewEvent
from clusters.domain.ids import HOUR, MINUTE, SECOND, Duration, Instant
from clusters.domain.inventory_events import Arrival, ArrivalsPlanned
from clusters.domain.jobs import JobKind, JobRequest
from tests.domain.fleet.stage import NAME, START, Stage, ask

QUIET = FleetOptions(failures_per_node_day=0)


class TwoWaiting:
    """Keeps two jobs of a rack waiting."""

    name = "two"

    def wants(self, waiting: Collection[Work]) -> bool:
        return len(waiting) < 2

    def pause(self, number: int) -> Duration:
        return 0 if number < 3 else MINUTE

    def request(self, number: int, waiting: Collection[Work]) -> JobRequest:
        return ask(16, name=f"made-{number}", run_s=None)

    def truth(self, number: int, request: JobRequest, submitted_at: Instant) -> Truth:
        return Truth(duration=HOUR, outcome=FINISHED)


def test_jobs_are_made_up_one_by_one_until_enough_wait_and_again_when_one_has_started() -> None:
    stage = Stage(1, QUIET, generator=TwoWaiting())
    stage.play(START + 30 * MINUTE)
    assert [at for at, _ in stage.told("JobSubmitted")] == [0, 0, 0]
    stage.play(START + 70 * MINUTE)
    assert len(stage.told("JobSubmitted")) == 4
    assert [at for at, _ in stage.told("JobFinished")] == [3620]


def test_a_restarted_fleet_makes_up_no_job_twice() -> None:
    stage = Stage(1, QUIET, generator=TwoWaiting())
    for _ in range(30):
        stage.restart()
        stage.step()
    names = [getattr(payload, "request", None) for _, payload in stage.told("JobSubmitted")]
    assert [request.name for request in names if request] == [f"made-{number}" for number in range(len(names))]
    assert len(names) > 5


def test_a_cancelled_job_that_waited_is_replaced() -> None:
    stage = Stage(1, QUIET, generator=TwoWaiting())
    stage.play(START + MINUTE)
    with stage.log.live(NAME).reading() as state:
        waiting = min(state.queue)
    stage.do(CancelJob(job=waiting, by="ada"), "cancel")
    stage.play(START + 5 * MINUTE)
    assert len(stage.told("JobSubmitted")) == 4


def test_a_plan_made_while_the_fleet_runs_is_played_and_jobs_due_together_come_together() -> None:
    stage = Stage(1, QUIET)
    items = tuple(Arrival(row=row, offset=MINUTE, request=ask(1), duration=30 * SECOND, outcome=FINISHED) for row in range(3))
    stage.log.append_facts(NAME, [NewEvent(ArrivalsPlanned(plan="p", base=START, items=items), START, "trace:p", "0")])
    stage.driver.follow()
    assert stage.driver.fleet.arrivals.left == 3
    stage.step()
    assert [at for at, _ in stage.told("JobSubmitted")] == [60, 60, 60]
    stage.play(START + HOUR)
    assert [at for at, _ in stage.told("JobFinished")] == [110, 110, 110]


def test_a_user_gets_the_time_asked_for_or_one_that_is_usual_for_the_kind() -> None:
    def duration(job: str, kind: JobKind, run_s: int | None = None) -> Duration:
        return users_truth(1, Work(job=job, request=ask(1, kind=kind, run_s=run_s))).duration

    assert duration("j1", JobKind.TRAINING, 90) == 90 * SECOND
    assert duration("j1", JobKind.TRAINING) == duration("j1", JobKind.TRAINING) != duration("j2", JobKind.TRAINING)
    means = {kind: sum(duration(f"j{n}", kind) for n in range(300)) / 300 for kind in JobKind}
    assert means[JobKind.BATCH] < means[JobKind.INTERACTIVE] < means[JobKind.TRAINING] < means[JobKind.INFERENCE]

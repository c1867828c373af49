"""A plan carried out by a simulated fleet: its work saves its progress when asked, moves, and loses little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.clock import cluster_now
from clusters.domain.commands import ApprovePlan, CancelJob, ChangePolicy, ProposePlan, SubmitJob
from clusters.domain.defrag_events import DefragFinished
from clusters.domain.ids import HOUR, MINUTE, Instant
from clusters.domain.job_events import CheckpointReported
from clusters.domain.jobs import JobRequest, Recovery
from clusters.domain.policy import Policy
from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.plan import plan_of
from scheduling.domain.defrag_trigger import causes, problem_of
from scheduling.domain.trial import Trial
from tests.domain.fleet.stage import NAME, START, Stage, ask

LONG_S = 20 * 3600


def submit(stage: Stage, request: JobRequest) -> str:
    number = len(stage.events)
    stage.do(SubmitJob(request=request, by="ada"), f"submit/{number}")
    return f"j{number + 1:06d}"


def wait(stage: Stage, until: Instant) -> None:
    """Let everything happen, and time go on, up to then."""
    stage.driver.play(until)
    stage.run_pass()


def blocked(recovery: Recovery) -> tuple[Stage, str]:
    """Three racks with six free nodes each, and a job that waits for twelve in one."""
    stage = Stage(3, FleetOptions(failures_per_node_day=0))
    policy = replace(Policy(), slice_size=18, target_spares=0, defrag_wait_s=0)
    stage.do(ChangePolicy(policy=policy, expected=1, by="ada", reason="no spares"), "policy")
    small = [submit(stage, ask(6, slice_size=6, run_s=LONG_S, recovery=recovery)) for _ in range(9)]
    wait(stage, START + 100 * MINUTE)
    with stage.log.live(NAME).reading() as state:
        homes = {state.jobs[job].slices[0].domain: job for job in small}
    for job in homes.values():
        stage.do(CancelJob(job=job, by="ada"), f"cancel/{job}")
    job = submit(stage, ask(12, slice_size=12, run_s=LONG_S))
    wait(stage, START + 110 * MINUTE)
    return stage, job


def approve(stage: Stage) -> str:
    """A plan for the job; returns its victim."""
    with stage.log.live(NAME).reading() as state:
        trial = Trial(state, cluster_now(state, stage.wall))
        problem = problem_of(trial, next(causes(state, trial.now)))
        assert problem is not None
        solution = first_plan(problem)
        assert solution is not None
        plan = plan_of(trial, problem, solution)
    stage.do(ProposePlan(plan=plan, reason="test"), "propose")
    with stage.log.live(NAME).reading() as state:
        (name,) = state.defrag
    stage.do(ApprovePlan(plan=name, by="ada"), "approve")
    return plan.moves[0].job


@pytest.mark.parametrize("recovery", list(Recovery))
@pytest.mark.parametrize("restarted", [False, True])
def test_work_that_is_asked_to_saves_its_progress_and_goes_on_from_there(recovery: Recovery, restarted: bool) -> None:
    stage, job = blocked(recovery)
    victim = approve(stage)
    if restarted:
        stage.restart()
    stage.play(START + 2 * HOUR)
    if restarted:
        stage.restart()
    ((saved, report),) = stage.told("CheckpointReported")
    assert isinstance(report, CheckpointReported)
    assert report.job == victim
    assert stage.told("WorkLost") == [], "of 110 minutes of work"
    assert [type(payload) for _, payload in stage.told("DefragFinished")] == [DefragFinished]
    stage.play(START + 48 * HOUR)
    ends = {payload.job: at for at, payload in stage.told("JobFinished")}  # type: ignore[union-attr]
    assert LONG_S < ends[victim] < LONG_S + 3 * 60
    assert ends[job] < saved + LONG_S + 2 * 60


def test_asking_work_that_does_not_run_tells_nothing() -> None:
    stage, _ = blocked(Recovery.CHECKPOINT)
    fleet = stage.driver.fleet
    with stage.log.live(NAME).reading() as state:
        waiting = next(job.id for job in state.jobs.values() if not job.slices)
    due = fleet.due
    for job in (waiting, "j999999"):
        fleet.checkpoint(job)
    assert fleet.due == due
    assert fleet.capabilities().checkpoint

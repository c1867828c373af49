"""Plans as they are carried out: in order, by who decides, and within what the policy allows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusters.domain import defrag_events as defrag
from clusters.domain import job_events as jobs
from clusters.domain.commands import (
    ApprovePlan,
    CancelJob,
    DropRoom,
    HoldJob,
    NodeVerb,
    ProposePlan,
    RejectPlan,
    ReportCheckpoint,
    RequestRoom,
    ReviewPlans,
)
from clusters.domain.decision import Decision, Refusal
from clusters.domain.defrag import PlanAim, PlanStatus
from clusters.domain.events import PolicyActivated
from clusters.domain.ids import HOUR, MINUTE, SECOND
from clusters.domain.jobs import JobState
from clusters.domain.lost_work import LossCause
from clusters.domain.setting import DefragMode
from clusters.domain.teams import Exempt
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.defrag_terms import over_budget
from scheduling.domain.defrag_trigger import causes
from tests.domain.scheduling.defrag.stories import WIDTH, approved, kinds, only, policy, propose, scattered, search
from tests.support.world import World, ask, racks


def test_a_plan_is_carried_out_step_by_step() -> None:
    world, job = scattered()
    known = approved(world)
    (move,) = known.plan.moves
    since = world.state.seq
    world.settle()
    assert kinds(world, since) == ["SpaceReserved", "CheckpointRequested"], "the victim has its time"
    assert next_deadline(world.state, world.now) == world.now + MINUTE
    world.now += MINUTE
    world.run_pass()
    assert world.job(move.job).leaving == set(move.nodes)
    assert world.job(job).state is JobState.WAITING, "the old nodes have not stopped"
    world.settle()
    assert world.job(job).slices[0].nodes == list(known.plan.nodes)
    assert kinds(world, since + 2) == [
        "SliceMoved", "StopRequested", "WorkStarted", "WorkStopped", "WorkLost", "DefragStepDone",
        "SpaceReserved", "JobPlaced", "DefragFinished", "WorkStarted",
    ]  # fmt: skip
    assert only(world, jobs.WorkLost)[0].cause is LossCause.DEFRAG
    assert only(world, jobs.SliceMoved)[0].reason == f"plan {known.id} makes room for job {job}"
    assert (world.state.defrag, world.state.reservations) == ({}, {})


def test_moves_begin_once_all_victims_have_saved_their_progress() -> None:
    world, job = scattered()
    (move,) = approved(world).plan.moves
    world.settle()
    world.now += SECOND
    world.do(ReportCheckpoint(job=move.job, step=7, by="ada"))
    world.settle()
    assert world.job(job).state is JobState.RUNNING
    assert only(world, jobs.WorkLost) == []


@pytest.mark.parametrize("aim", ["auto", "suggest", "off"])
def test_the_mode_says_who_decides(aim: str) -> None:
    world, job = scattered(DefragMode(aim))
    if aim == "off":
        assert search(world) is None
        other, _ = scattered()
        assert propose(world, search(other)) == Refusal(code="policy", message="the policy wants no plans")
        return
    propose(world)
    world.settle()
    world.now += MINUTE
    world.settle()
    assert world.job(job).state is (JobState.RUNNING if aim == "auto" else JobState.WAITING)
    assert [event.by for event in only(world, defrag.DefragApproved)] == (["policy"] if aim == "auto" else [])


def test_nothing_is_planned_before_the_job_has_waited_long_enough_nor_where_capacity_lacks() -> None:
    world, job = scattered()
    world.now = world.job(job).blocked_since + 59 * SECOND
    assert not list(causes(world.state, world.now))
    world.now += SECOND
    (cause,) = causes(world.state, world.now)
    assert (cause.aim, cause.job) == (PlanAim.JOB, job)
    world.do(HoldJob(job=job, by="ada"))
    assert not list(causes(world.state, world.now))


def test_a_rejected_plan_is_not_made_again_for_a_while() -> None:
    world, job = scattered()
    propose(world)
    (known,) = world.state.defrag.values()
    assert isinstance(world.do(RejectPlan(plan=known.id, by="op", reason="not now")), Decision)
    assert world.state.defrag == {}
    assert not list(causes(world.state, world.now + HOUR - SECOND))
    assert [cause.job for cause in causes(world.state, world.now + HOUR)] == [job]


def test_commands_on_plans_that_are_not_there_or_decided_are_refused() -> None:
    world, _ = scattered()
    assert isinstance(world.do(ApprovePlan(plan="p000001", by="op")), Refusal)
    plan = search(world)
    assert plan is not None
    running = approved(world)
    for command in (ApprovePlan(plan=running.id, by="op"), RejectPlan(plan=running.id, by="op"), ProposePlan(plan=plan, reason="again")):
        outcome = world.do(command)
        assert isinstance(outcome, Refusal)
        assert outcome.code == "state"


def test_a_plan_that_no_longer_holds_is_refused_and_expires() -> None:
    world, _ = scattered()
    plan = search(world)
    assert plan is not None
    world.mark(plan.nodes[-1], NodeVerb.DRAIN)
    outcome = propose(world, plan)
    assert isinstance(outcome, Refusal)
    assert plan.nodes[-1] in outcome.message
    world.mark(plan.nodes[-1], NodeVerb.UNDRAIN)
    propose(world, plan)
    (known,) = world.state.defrag.values()
    assert world.do(ReviewPlans()) == Decision(events=())
    world.mark(plan.nodes[-1], NodeVerb.DRAIN)
    assert isinstance(world.do(ApprovePlan(plan=known.id, by="op")), Refusal)
    world.do(ReviewPlans())
    assert [event.status for event in only(world, defrag.DefragAborted)] == [PlanStatus.EXPIRED]


def test_a_proposal_for_a_job_that_waits_no_more_ends_by_itself() -> None:
    world, job = scattered()
    propose(world)
    world.do(CancelJob(job=job, by="ada"))
    world.run_pass()
    assert world.state.defrag == {}


def test_work_without_a_place_waits_where_the_policy_allows_it_and_is_told_why() -> None:
    assert search(_without_places(may_wait=False)[0]) is None
    world, job = _without_places(may_wait=True)
    known = approved(world)
    (move,) = known.plan.moves
    assert move.to is None
    world.settle()
    world.now += MINUTE
    world.settle()
    victim = world.job(move.job)
    assert (victim.state, world.job(job).state) == (JobState.WAITING, JobState.RUNNING)
    assert (victim.preemptions, victim.reason) == (1, f"plan {known.id} makes room for job {job}")
    (told,) = only(world, jobs.JobPreempted)
    assert (told.by, told.reason) == (job, victim.reason)
    (lost,) = only(world, jobs.WorkLost)
    assert (lost.job, lost.cause) == (victim.id, LossCause.DEFRAG)
    assert lost.rollback_gpu_s > 0
    assert "JobFailed" not in kinds(world, 0)


def _without_places(*, may_wait: bool) -> tuple[World, str]:
    """Four racks with one node free each: three nodes of work find no other place."""
    world = World(racks(4, nodes=WIDTH), policy(defrag_may_wait=may_wait))
    for _ in range(4):
        world.submit(ask(3, slice_size=3, priority=-5))
    world.settle()
    world.now += HOUR
    job = world.submit(ask(WIDTH, slice_size=WIDTH))
    world.settle()
    world.now += 5 * MINUTE
    return world, job


def test_a_stalled_slice_is_given_room_at_once() -> None:
    world = World(racks(3, nodes=WIDTH), policy())
    large = world.run(ask(WIDTH, slice_size=WIDTH))
    small = [world.run(ask(2)) for _ in range(4)]
    for job in {job.slices[0].domain: job for job in small}.values():
        world.finish(job.id)
    (node, *_) = world.job(large.id).slices[0].nodes
    assert node is not None
    world.add(jobs.WorkStopped(job=large.id, generation=large.generation, nodes=(node,)))
    world.mark(node, NodeVerb.FAIL)
    world.settle()
    assert world.job(large.id).state is JobState.STALLED
    (cause,) = causes(world.state, world.now)
    assert (cause.aim, cause.job) == (PlanAim.STALL, large.id)
    known = approved(world)
    world.settle()
    world.now += MINUTE
    world.settle()
    assert world.job(large.id).state is JobState.RUNNING
    assert set(world.job(large.id).slices[0].nodes) == set(known.plan.nodes)
    assert [event.reason for event in only(world, defrag.DefragFinished)] == [f"job {large.id} has its nodes"]
    assert (world.state.defrag, world.state.reservations) == ({}, {})


def test_whole_domains_are_freed_in_time_for_when_they_are_wanted_and_kept_free_until_the_limit() -> None:
    world, job = scattered()
    world.do(CancelJob(job=job, by="ada"))
    world.do(RequestRoom(domains=1, by="op", reason="tonight", at=world.now + 2 * HOUR))
    assert not list(causes(world.state, world.now))
    world.now += 100 * MINUTE
    known = approved(world)
    world.settle()
    world.now += MINUTE
    world.settle()
    (domain,) = known.plan.domains
    assert [event.reason for event in only(world, defrag.DefragFinished)] == [f"{domain} are free"]
    late = world.run(ask(WIDTH, slice_size=WIDTH))
    assert late.state is JobState.WAITING
    world.now += HOUR
    world.settle()
    assert world.job(late.id).slices[0].domain == domain


def test_wishes_for_domains_are_checked_and_can_be_dropped() -> None:
    world, _ = scattered()
    for count in (0, 4):
        outcome = world.do(RequestRoom(domains=count, by="op"))
        assert isinstance(outcome, Refusal)
        assert outcome.counts["expected"] == "give a whole number from 1 to 3, the domains of this cluster"
    assert isinstance(world.do(DropRoom(by="op")), Refusal)
    world.do(RequestRoom(domains=2, by="op"))
    world.do(DropRoom(by="op", reason="not needed"))
    assert world.state.room is None


# ---- what is left alone


def test_work_of_exempt_teams_and_work_that_was_moved_of_late_is_left_alone() -> None:
    assert search(scattered(request={"team": "serving"}, exempt=(Exempt(team="serving"),))[0]) is None
    world, _ = scattered()
    (move,) = approved(world).plan.moves
    world.settle()
    world.now += MINUTE
    world.settle()
    assert world.job(move.job).disturbed_at == world.now
    other = world.submit(ask(WIDTH, slice_size=WIDTH))
    world.settle()
    moved = world.job(move.job)
    beside = [name for name, small in world.state.jobs.items() if small.slices and small.slices[0].domain == moved.slices[0].domain]
    world.finish(next(name for name in beside if name != moved.id))
    world.now += MINUTE
    world.settle()
    assert world.job(other).blocked == "topology-blocked"
    world.now += 5 * MINUTE
    plan = search(world)
    assert plan is not None
    assert move.job not in {again.job for again in plan.moves}


def test_budgets_bind_the_policy_and_not_a_person() -> None:
    world, job = scattered(DefragMode.AUTO, defrag_jobs_per_hour=0)
    assert search(world) is None, "a plan is made to fit the budget"
    suggested = search(scattered()[0])
    assert suggested is not None
    propose(world, suggested)
    world.settle()
    (known,) = world.state.defrag.values()
    assert known.status is PlanStatus.PROPOSED
    assert over_budget(world.state, known.plan, world.now) == ("0 jobs were disturbed in the last hour, and 1 more would be; 0 are allowed")
    world.do(ApprovePlan(plan=known.id, by="op"))
    world.settle()
    world.now += MINUTE
    world.settle()
    assert world.job(job).state is JobState.RUNNING


def test_the_budget_of_a_team_is_its_own() -> None:
    world, _ = scattered(DefragMode.AUTO, request={"team": "vision"}, defrag_team_per_hour=1)
    plan = search(world)
    assert plan is not None
    assert over_budget(world.state, plan, world.now) == ""
    world.add(PolicyActivated(version=2, policy=replace(world.state.policy, defrag_team_per_hour=0), reason="", by="op"))
    assert over_budget(world.state, plan, world.now) == "team vision would have 1 jobs disturbed in an hour; 0 are allowed"
    assert search(world) is None


def test_what_is_kept_for_a_job_behind_does_not_keep_a_plan_from_being_made() -> None:
    """Under easy backfill each of the jobs that wait has nodes kept by the planned ends of what runs, those of victims among them."""
    world, job = scattered()
    behind = world.submit(ask(WIDTH, slice_size=WIDTH))
    world.settle()
    kept = world.state.reservations
    assert set(kept[job].nodes) | set(kept[behind].nodes) <= set(world.state.nodes)
    assert kept.keys() == {job, behind}
    approved(world)
    world.settle()
    world.now += MINUTE
    world.settle()
    assert (world.job(job).state, world.job(behind).state) == (JobState.RUNNING, JobState.WAITING)

"""Plans in the background: searched for in a child process, proposed by a command, approved and carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from clusters.domain.commands import CancelJob
from clusters.domain.defrag import PlanStatus
from clusters.domain.jobs import JobKind, JobRequest, JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import DefragMode
from clusters.domain.state import ClusterState
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.maintenance import remove_cluster
from clusters.eventlog.store import default_log
from config.celery import app
from frontend.selectors.plancalls import plan_calls
from scheduling import plans
from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.model import Problem
from scheduling.models import PlanSearch
from scheduling.services import command_commit, job_submit, policy_change, run_pass
from scheduling.solver.child import Child, Deliver
from tasks import defrag
from tests.support.lab import NAME, NODES, finish, make_lab, start


def state() -> ClusterState:
    return live(NAME).catch_up()


def submit(nodes: int) -> str:
    job = job_submit(cluster=NAME, request=JobRequest(name="w", kind=JobKind.TRAINING, nodes=nodes, slice_size=nodes), by="ada")
    assert isinstance(job, str)
    run_pass(NAME)
    return job


def crowd(mode: DefragMode) -> str:
    """Racks of three jobs of six nodes, of which three have lost one; a job waits for a whole rack."""
    make_lab()
    policy = replace(Policy(), slice_size=NODES, target_spares=0, defrag_mode=mode, defrag_wait_s=0, defrag_grace_s=0)
    assert policy_change(cluster=NAME, policy=policy, expected=1, by="op", reason="test") is None
    small = [submit(6) for _ in range(12)]
    for job in small:
        start(job)
    for job in {state().jobs[job].slices[0].domain: job for job in small if state().jobs[job].slices[0].domain != "r4"}.values():
        finish(job)
    run_pass(NAME)
    return submit(NODES)


def at_once(problem: Problem, seconds: float, deliver: Deliver) -> str:
    """A search without a child."""
    deliver(first_plan(problem))
    return "searched"


def told(kind: str) -> list[Any]:
    return [event.payload for event in default_log().read(NAME) if event.kind == kind]


@pytest.mark.django_db(transaction=True)
def test_in_auto_mode_a_blocked_job_is_given_room_by_a_plan_that_a_child_has_proven() -> None:
    job = crowd(DefragMode.AUTO)
    search = plans.plan_search(NAME)
    assert isinstance(search, Child)
    assert plans.plan_search(NAME) is None, "one search at a time"
    search.join()
    (planned,) = told("DefragPlanned")
    assert planned.proposal.optimal
    run_pass(NAME)
    assert state().jobs[job].state is JobState.PLACED
    assert not state().defrag
    assert [event.by for event in told("DefragApproved")] == ["policy"]
    assert len(told("DefragFinished")) == 1


@pytest.mark.django_db
def test_in_suggest_mode_a_person_decides() -> None:
    job = crowd(DefragMode.SUGGEST)
    assert plans.plan_search(NAME, at_once) == "searched"
    run_pass(NAME)
    (known,) = state().defrag.values()
    assert (known.status, state().jobs[job].state) == (PlanStatus.PROPOSED, JobState.WAITING)
    assert plans.plan_search(NAME, at_once) is None, "there is a plan"
    assert plans.plan_approve(cluster=NAME, plan=known.id, by="op") is None
    run_pass(NAME)
    assert state().jobs[job].state is JobState.PLACED


@pytest.mark.django_db
def test_what_was_tried_in_vain_is_not_tried_again_at_once() -> None:
    crowd(DefragMode.SUGGEST)
    asked: list[Problem] = []

    def none(problem: Problem, seconds: float, deliver: Deliver) -> None:
        asked.append(problem)
        deliver(None)

    for _ in range(3):
        plans.plan_search(NAME, none)
    assert len(asked) == 1
    PlanSearch.objects.update(tried="{}")
    plans.plan_search(NAME, none)
    assert len(asked) == 1, "there is a rest after a search in vain"
    PlanSearch.objects.update(until=0)
    plans.plan_search(NAME, none)
    assert len(asked) == 2


@pytest.mark.django_db
def test_why_a_search_was_in_vain_is_kept_until_a_plan_is_found() -> None:
    job = crowd(DefragMode.SUGGEST)
    (before,) = plan_calls(NAME)
    assert (before.job, before.code, before.searched_at_us) == (job, "", None)
    plans.plan_search(NAME, lambda problem, seconds, deliver: deliver(None))
    (call,) = plan_calls(NAME)
    assert (call.job, call.code) == (job, "places")
    assert call.searched_at_us is not None
    assert call.counts["wanted"] == 1
    PlanSearch.objects.update(tried="{}", until=0)
    plans.plan_search(NAME, at_once)
    assert plan_calls(NAME) == []
    (known,) = state().defrag.values()
    assert plans.plan_reject(cluster=NAME, plan=known.id, by="op") is None
    (rested,) = plan_calls(NAME)
    assert (rested.job, rested.code) == (job, "cooldown")
    assert rested.until_us is not None


@pytest.mark.django_db
def test_a_spent_budget_is_why_nothing_is_looked_for() -> None:
    job = crowd(DefragMode.AUTO)
    policy = replace(state().policy, defrag_jobs_per_hour=0)
    assert policy_change(cluster=NAME, policy=policy, expected=2, by="op", reason="test") is None
    assert plans.plan_search(NAME, at_once) is None
    (call,) = plan_calls(NAME)
    assert (call.job, call.code, call.counts) == (job, "budget", {"disturbed": 0, "allowed": 0})


@pytest.mark.django_db
def test_a_plan_that_came_too_late_is_replaced_by_a_quick_one() -> None:
    crowd(DefragMode.SUGGEST)

    def late(problem: Problem, seconds: float, deliver: Deliver) -> str:
        solution = first_plan(problem)
        assert solution is not None
        victim = problem.units[solution.moves[0][0]].pieces[0][0]
        command_commit(cluster=NAME, command=CancelJob(job=victim, by="ada"), by="ada")
        deliver(solution)
        return victim

    victim = plans.plan_search(NAME, late)
    (known,) = state().defrag.values()
    assert victim not in {move.job for move in known.plan.moves}
    assert known.plan.solver == "cascade"


@pytest.mark.django_db
def test_a_search_whose_process_died_keeps_others_off_for_a_while_only(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd(DefragMode.SUGGEST)
    silent: Callable[..., None] = lambda *_: None  # noqa: E731 - never delivers
    plans.plan_search(NAME, silent)
    PlanSearch.objects.update(tried="{}")
    assert plans.plan_search(NAME, at_once) is None
    later = wall_now() + 60_000_000
    monkeypatch.setattr(plans, "wall_now", lambda: later)
    assert plans.plan_search(NAME, at_once) == "searched"


@pytest.mark.django_db
def test_whole_domains_are_freed_or_given_up_with_a_word() -> None:
    job = crowd(DefragMode.SUGGEST)
    command_commit(cluster=NAME, command=CancelJob(job=job, by="ada"), by="ada")
    assert plans.room_request(cluster=NAME, domains=4, by="op", reason="tonight") is None
    plans.plan_search(NAME, at_once)
    assert state().room is None
    assert told("RoomDropped")[0].reason.startswith("no plan was found: ")
    assert plans.room_request(cluster=NAME, domains=1, by="op", reason="tonight") is None
    PlanSearch.objects.update(tried="{}", until=0)
    plans.plan_search(NAME, at_once)
    (known,) = state().defrag.values()
    assert plans.plan_approve(cluster=NAME, plan=known.id, by="op") is None
    run_pass(NAME)
    (domain,) = known.plan.domains
    assert not any(node.job for node in state().nodes.values() if node.domain == domain)
    assert len(told("DefragFinished")) == 1
    assert plans.room_request(cluster=NAME, domains=5, by="op") is not None


@pytest.mark.django_db
def test_proposals_that_no_longer_hold_are_done_away_with() -> None:
    crowd(DefragMode.SUGGEST)
    plans.plan_search(NAME, at_once)
    (known,) = state().defrag.values()
    assert not plans.plans_review(NAME)
    command_commit(cluster=NAME, command=CancelJob(job=known.plan.moves[0].job, by="ada"), by="ada")
    assert plans.plans_review(NAME)
    assert [event.status for event in told("DefragAborted")] == [PlanStatus.EXPIRED]
    assert not plans.plans_review(NAME)


@pytest.mark.django_db
def test_what_is_kept_of_searches_goes_with_its_log() -> None:
    crowd(DefragMode.SUGGEST)
    plans.plan_search(NAME, at_once)
    assert plans.plans_forget_removed() == 0
    remove_cluster(NAME, by="op", reason="test")
    assert plans.plans_forget_removed() == 1
    defrag.search(NAME)


def test_events_that_call_for_a_plan_send_for_a_search_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(defrag.search, "delay", sent.append)
    calls = defrag.Calls()
    for kind in ("JobPlaced", "SliceStalled", "JobBlocked"):
        calls.note("lab", kind)
    assert sent == ["lab"]
    calls.note("other", "RoomRequested")
    assert sent == ["lab", "other"]


def test_the_beat_looks_for_what_calls_for_a_plan() -> None:
    assert app.conf.beat_schedule["defrag"]["task"] == defrag.look.name

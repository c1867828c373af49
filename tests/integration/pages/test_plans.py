"""What pages say of plans that make room."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from clusters.domain.defrag import PlanStatus
from clusters.domain.defrag_events import DefragAborted, DefragApproved, DefragFinished, DefragRejected, DefragStepDone, RoomRequested
from clusters.domain.jobs import JobKind, JobRequest
from scheduling.services import job_submit, run_pass
from tests.support.lab import NAME, report
from tests.support.plans import FREED, propose

pytestmark = pytest.mark.django_db

PLANS = f"/clusters/{NAME}/plans/"
ROWS = f"/clusters/{NAME}/parts/plans/"


def submit(nodes: int, name: str) -> str:
    made = job_submit(cluster=NAME, request=JobRequest(name=name, kind=JobKind.TRAINING, nodes=nodes), by="bob")
    assert isinstance(made, str)
    return made


@pytest.fixture
def victim(cluster: str) -> str:
    """A job on the first four nodes of r1."""
    job = submit(4, "small")
    run_pass(NAME)
    return job


def text(client: Client, path: str, status: int = 200) -> str:
    answer: Any = client.get(path)
    assert answer.status_code == status, answer
    content: str = answer.content.decode()
    return content


def test_without_plans_the_page_says_what_would_call_for_one(user: Client, cluster: str) -> None:
    assert "No plan waits or runs" in text(user, PLANS)
    assert "What would it take?" not in text(user, PLANS)


def test_a_plan_is_shown_with_maps_moves_and_why_the_others_lose(user: Client, victim: str) -> None:
    job = submit(16, "large")
    plan = propose(victim, job)
    for path in (f"{PLANS}{plan}/", f"{ROWS}{plan}/"):
        page = text(user, path)
        assert page.count("move 1") == 8  # four nodes that it leaves, and four that it comes to
        assert page.count('class="is-kept"') == len(FREED)
        assert "Proven cheapest" in page
        assert "→ r2" in page
        assert "j000009 stays" in page
        assert "3.0 GPU-hours" in page  # weighted, of 1 GPU-hour lost
        assert "plan-approve" not in page
    for path in (PLANS, ROWS, f"/clusters/{NAME}/", f"/clusters/{NAME}/jobs/{job}/", f"/clusters/{NAME}/jobs/{victim}/"):
        assert f"{PLANS}{plan}/" in text(user, path)
    assert "for which this job would give way" in text(user, f"/clusters/{NAME}/parts/jobs/{victim}/plans/")


def test_only_who_may_is_offered_a_decision_and_only_while_there_is_one(user: Client, admin: Client, victim: str) -> None:
    plan = propose(victim)
    assert f"/api/v1/clusters/{NAME}/plans/{plan}/approve/" in text(admin, f"{PLANS}{plan}/")
    report(DefragApproved(plan=plan, by="ada"))
    page = text(admin, f"{PLANS}{plan}/")
    assert 'data-plan-status="running"' in page
    assert "plan-approve" not in page
    assert "0 of 1 steps done" in page


ENDS: dict[str, Any] = {
    "finished": lambda plan: (
        DefragApproved(plan=plan, by="ada"),
        DefragStepDone(plan=plan, step=0, victim="j"),
        DefragFinished(plan=plan, reason="r1 is free"),
    ),
    "rejected": lambda plan: (DefragRejected(plan=plan, by="ada", reason="not tonight"),),
    "expired": lambda plan: (DefragAborted(plan=plan, status=PlanStatus.EXPIRED, reason="nobody wants it"),),
    "aborted": lambda plan: (
        DefragApproved(plan=plan, by="ada"),
        DefragAborted(plan=plan, status=PlanStatus.ABORTED, reason="r2-n01 failed"),
    ),
}


@pytest.mark.parametrize("status", ENDS)
def test_a_plan_that_has_ended_is_told_from_the_log(user: Client, victim: str, status: str) -> None:
    plan = propose(victim)
    ends = ENDS[status](plan)
    report(*ends)
    told: Any = user.get(f"/api/v1/clusters/{NAME}/plans/{plan}/").json()
    assert (told["status"], told["outcome"]) == (status, ends[-1].reason)
    assert [move["done"] for move in told["moves"]] == [status == "finished"]
    listed: Any = user.get(f"/api/v1/clusters/{NAME}/plans/").json()
    assert ([one["id"] for one in listed["past"]], listed["open"], listed["next"]) == ([plan], [], None)
    page = text(user, f"{PLANS}{plan}/")
    assert f'data-plan-status="{status}"' in page
    assert ends[-1].reason in page
    assert "is-apart" not in page
    assert "r1-n17, " in page  # the rest of its domains as it was then
    assert "No plan waits or runs" in text(user, PLANS)
    assert plan in text(user, PLANS)


def test_past_plans_are_paged_from_the_newest(user: Client, victim: str) -> None:
    made = []
    for _ in range(3):
        made.append(propose(victim))
        report(*ENDS["rejected"](made[-1]))
    first: Any = user.get(f"/api/v1/clusters/{NAME}/plans/?limit=2").json()
    assert ([one["id"] for one in first["past"]], first["next"]) == ([made[2], made[1]], made[1])
    rest: Any = user.get(f"/api/v1/clusters/{NAME}/plans/?limit=2&before={made[1]}").json()
    assert ([one["id"] for one in rest["past"]], rest["next"]) == ([made[0]], None)


def test_wanted_domains_are_told_and_dropped(user: Client, admin: Client, cluster: str) -> None:
    report(RoomRequested(domains=2, by="ada", reason="maintenance"))
    assert "2 whole domains wanted" in text(user, PLANS)
    assert "room-drop" not in text(user, PLANS)
    assert "room-drop" in text(admin, PLANS)
    done: Any = admin.post(f"/api/v1/clusters/{NAME}/plans/request/drop/", {}, content_type="application/json")
    assert (done.status_code, done.json()) == (200, {"room": None})
    asked: Any = admin.post(f"/api/v1/clusters/{NAME}/plans/request/", {"domains": 1, "reason": "x"}, content_type="application/json")
    assert (asked.json()["room"]["domains"], asked.json()["room"]["by"]) == (1, "ada")


def test_what_if_is_shown_and_asks_for_nothing(admin: Client, user: Client, victim: str) -> None:
    refused = text(admin, f"{PLANS}what-if/?domains=4")
    assert "No plan can free 4 whole domains: 3 are free now; no other place was found" in refused
    assert 'name="domains" type="number" min="1" max="4" value="4"' in refused  # another number is asked for at once
    vain: Any = admin.post(f"/api/v1/clusters/{NAME}/plans/request/?dry_run=true", {"domains": 4}, content_type="application/json")
    assert (vain.status_code, vain.json()["counts"]["empty"], vain.json()["counts"]["wanted"]) == (409, 3, 4)
    page = text(admin, f"{PLANS}what-if/?domains=3")
    assert "Nothing has been asked for" in page
    assert "plan-approve" not in page
    shown: Any = admin.post(f"/api/v1/clusters/{NAME}/plans/request/?dry_run=true", {"domains": 3}, content_type="application/json")
    assert shown.json()["plan"]["moves"] == []
    assert len(shown.json()["plan"]["domains"]) == 3
    for wrong in ("0", "5", "x", "", "99999999"):
        assert "whole number from 1 to 4" in text(admin, f"{PLANS}what-if/?domains={wrong}")
    assert text(user, PLANS).count("wanted") == 0


def test_what_if_names_the_domain_that_comes_nearest_where_work_stays(admin: Client, cluster: str) -> None:
    stays = JobRequest(name="stays", kind=JobKind.TRAINING, nodes=2, restartable=False)
    assert isinstance(job_submit(cluster=NAME, request=stays, by="bob"), str)
    run_pass(NAME)
    refused = text(admin, f"{PLANS}what-if/?domains=4")
    assert "only 3 of 4 whole domains could be had if all that may move left; 1 job stays: 1 cannot be restarted" in refused
    assert "of those that work stays in, r1 comes nearest with 1 job." in refused


def test_a_plan_that_there_is_not(user: Client, admin: Client, cluster: str) -> None:
    assert user.get(f"{PLANS}p000001/").status_code == 404  # an event, and no plan
    assert user.get(f"/api/v1/clusters/{NAME}/plans/p999999/").status_code == 404
    answer: Any = admin.post(f"/api/v1/clusters/{NAME}/plans/p999999/approve/", {}, content_type="application/json")
    assert answer.status_code == 404

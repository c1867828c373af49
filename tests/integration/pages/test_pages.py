"""What stands on the pages, and where they lead."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.db import OperationalError
from django.test import Client

from clusters.domain.commands import NodeVerb
from clusters.domain.errors import BrokenInvariant, ClusterError, UnknownEvent
from clusters.domain.health_events import NodeQuarantined, RackStateChanged
from clusters.domain.ids import HOUR
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.racks import RackState
from clusters.eventlog.live import live
from clusters.eventlog.store import create_cluster
from frontend.pages import fleet
from frontend.selectors import clusters
from frontend.selectors.clusters import ClusterSummary, cluster_summary
from scheduling.services import job_submit, node_mark, run_pass
from tests.support.lab import NAME, finish, project_all, report, start

pytestmark = pytest.mark.django_db


def submit(nodes: int = 32, name: str = "train", **fields: Any) -> str:
    made = job_submit(cluster=NAME, request=JobRequest(name=name, kind=JobKind.TRAINING, nodes=nodes, **fields), by="bob")
    assert isinstance(made, str)
    return made


def text(client: Client, path: str) -> str:
    answer: Any = client.get(path)
    assert answer.status_code == 200, answer
    content: str = answer.content.decode()
    return content


def test_without_a_cluster_the_first_page_says_how_to_get_one(user: Client) -> None:
    assert "import_cluster FILE --name NAME" in text(user, "/")


def test_a_single_cluster_is_opened_at_once_and_several_are_listed(user: Client, cluster: str) -> None:
    assert user.get("/").headers["Location"] == "/clusters/lab/"
    create_cluster("other", by="test")
    page = text(user, "/")
    assert "/clusters/lab/" in page
    assert "/clusters/other/" in page


@pytest.mark.parametrize("error", [UnknownEvent("event 9"), BrokenInvariant("event 9")])
def test_a_cluster_whose_log_cannot_be_read_hides_no_other(
    user: Client, cluster: str, monkeypatch: pytest.MonkeyPatch, error: ClusterError
) -> None:
    create_cluster("other", by="test")
    summary = cluster_summary

    def unreadable(name: str) -> ClusterSummary:
        if name == "other":
            raise error
        return summary(name)

    monkeypatch.setattr(clusters, "cluster_summary", unreadable)
    listed: Any = user.get("/api/v1/clusters/").json()
    assert ([item["name"] for item in listed["items"]], listed["unreadable"]) == (["lab"], ["other"])
    page = text(user, "/")
    assert page.count("Its log cannot be read") == 1
    assert '<td class="num">72</td>' in page


@pytest.mark.parametrize("path", ["/", "/clusters/lab/", "/clusters/lab/jobs/"])
def test_a_page_says_that_the_database_is_away(user: Client, cluster: str, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    def gone(*_: object) -> None:
        raise OperationalError("no route to host 10.0.0.5")

    monkeypatch.setattr(ModelBackend, "get_user", gone)
    user.raise_request_exception = False
    answer: Any = user.get(path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "The database does not answer" in answer.content.decode()
    assert "10.0.0.5" not in answer.content.decode()


def test_the_fleet_page_says_where_the_socket_goes_on(user: Client, cluster: str) -> None:
    snapshot: Any = user.get("/api/v1/clusters/lab/snapshot/")
    page = text(user, "/clusters/lab/")
    body = snapshot.json()
    assert f'data-seq="{body["seq"]}" data-epoch="{body["epoch"]}"' in page
    assert 'data-ws-url="/ws/clusters/lab/"' in page


def test_the_fleet_page_tells_the_queue_and_the_news(user: Client, cluster: str) -> None:
    first, second = submit(64, "large"), submit(16, "late")
    run_pass(NAME)
    for path in ("/clusters/lab/", "/clusters/lab/parts/queue/"):
        page = text(user, path)
        assert second in page
        assert "needs 1 domain with 16 free" in page
    news = text(user, "/clusters/lab/parts/events/")
    assert "Placed on 64 nodes" in news
    assert "Submitted: large" in news
    assert "r1-n01 registered" not in news
    assert f"/clusters/lab/jobs/{first}/" in news


def test_a_rack_is_drawn_with_who_runs_where(user: Client, cluster: str) -> None:
    job = submit(16)
    run_pass(NAME)
    report(NodeQuarantined(node="r1-n17", owner="ada", reason="flapping", exit_rule="by hand"))
    for path in ("/clusters/lab/racks/r1/", "/clusters/lab/parts/racks/r1/"):
        page = text(user, path)
        assert page.count('class="elevation-switch"') == 9
        assert page.count(f"/clusters/lab/jobs/{job}/") >= 32
        assert "slot 15" in page
        assert "quarantined: flapping (test)" in page
    assert 'data-live-fragment="/clusters/lab/parts/racks/r1/" data-live-any' in text(user, "/clusters/lab/racks/r1/")


def test_only_administrators_are_offered_what_they_may_do(user: Client, admin: Client, cluster: str) -> None:
    node_mark(cluster=NAME, node="r1-n02", verb=NodeVerb.FAIL, by="ada")
    node_mark(cluster=NAME, node="r1-n03", verb=NodeVerb.DRAIN, by="ada")
    offered = text(admin, "/clusters/lab/racks/r1/")
    assert {"fail-r1-n01", "repair-r1-n02", "undrain-r1-n03"} <= {part.split('"')[0] for part in offered.split('id="')}
    assert "fail-r1-n02" not in offered
    assert "data-action-url" not in text(user, "/clusters/lab/racks/r1/")


def test_the_page_of_a_waiting_job_says_why_and_what_would_start_it(user: Client, cluster: str) -> None:
    submit(48, "first")
    submit(3, "second")
    waiting = submit(16, "third")
    run_pass(NAME)
    page = text(user, f"/clusters/lab/jobs/{waiting}/")
    assert "Why it waits" in page
    assert "1 more free node in r4 would make room." in page


def test_the_page_of_a_running_job_shows_slices_swaps_and_moves(user: Client, cluster: str) -> None:
    job = submit(32, team="red")
    run_pass(NAME)
    start(job)
    for node in ("r1-n01", "r1-n02", "r1-n03"):
        node_mark(cluster=NAME, node=node, verb=NodeVerb.FAIL, by="ada", reason="smoke")
        run_pass(NAME)
    page = text(user, f"/clusters/lab/jobs/{job}/")
    assert "r1-n17 took the place of r1-n01" in page
    assert "r1-n18 took the place of r1-n02" in page
    assert "Slice 0 moved from r1 to r3" in page
    assert "2, 1" in page
    assert page.count("is-own") == 32
    assert "generation 4" in page
    assert f"cancel-{job}" in page


def test_the_page_of_an_ended_job_tells_its_life(user: Client, cluster: str) -> None:
    job = submit(16)
    run_pass(NAME)
    start(job)
    finish(job)
    page = text(user, f"/clusters/lab/parts/jobs/{job}/")
    assert page.count("is-done") == 4
    assert "Finished" in page
    assert f"cancel-{job}" not in page


def test_jobs_are_listed_filtered_and_paged(user: Client, cluster: str) -> None:
    names = [submit(1, f"job{number}", team="red" if number % 2 else "blue") for number in range(60)]
    project_all()
    page = text(user, "/clusters/lab/jobs/")
    assert "1 to 50 of 60" in page
    assert (names[59] in page, names[9] in page) == (True, False)
    assert names[9] in text(user, "/clusters/lab/jobs/?page=2")
    red = text(user, "/clusters/lab/parts/jobs/?team=red")
    assert red.count("<tr>") == 31
    assert "No job matches" in text(user, "/clusters/lab/jobs/?state=running")
    both = text(user, "/clusters/lab/jobs/?team=red&team=blue&state=submitted")
    assert "team=red&amp;state=submitted" not in both  # switching a value off leaves the others on
    assert "?state=submitted&amp;team=blue" in both


@pytest.mark.parametrize(
    "query", ["page=0", "page=x", "page=-1", "page=99999999999", "state=lost", "team=%00", "kind=&team=", "page=%C2%B2"]
)
def test_an_address_that_makes_no_sense_is_as_if_it_were_not_there(user: Client, cluster: str, query: str) -> None:
    submit()
    project_all()
    text(user, f"/clusters/lab/jobs/?{query}")


@pytest.mark.parametrize(
    "path",
    [
        "clusters/other/",
        "clusters/lab/racks/r9/",
        "clusters/lab/jobs/j999999/",
        "clusters/lab/jobs/x/",
        "clusters/lab/parts/racks/r9/",
        "x/",
    ],
)
def test_what_is_not_there_is_not_found(user: Client, cluster: str, path: str) -> None:
    missing: Any = user.get(f"/{path}")
    assert missing.status_code == 404
    assert "There is nothing here" in missing.content.decode()


@pytest.mark.parametrize(
    ("error", "told"), [(UnknownEvent("event 9"), "Upgrade this server"), (BrokenInvariant("event 9"), "log contradicts itself")]
)
def test_a_log_that_cannot_be_read_is_said_to_be_one(
    user: Client, cluster: str, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def unreadable(_: str) -> None:
        raise error

    monkeypatch.setattr(fleet, "reading", unreadable)
    answer: Any = user.get("/clusters/lab/")
    assert answer.status_code == 503
    assert told in answer.content.decode()
    assert "event 9" not in answer.content.decode()


def test_pages_are_kept_by_no_cache_and_run_no_foreign_code(user: Client, cluster: str) -> None:
    page: Any = user.get("/clusters/lab/")
    assert "no-store" in page.headers["Cache-Control"]
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    content = page.content.decode()
    for hole in ("<style", " style=", "onclick=", "onload=", "javascript:"):
        assert hole not in content
    assert all(script.split(">")[0].strip() for script in content.split("<script")[1:])


def test_pages_take_few_queries(user: Client, cluster: str, django_assert_max_num_queries: Any) -> None:
    job = submit()
    run_pass(NAME)
    project_all()
    text(user, "/clusters/lab/")
    for path, most in (("", 9), ("racks/r1/", 6), (f"jobs/{job}/", 7), ("jobs/", 12), ("parts/queue/", 4), ("parts/events/", 6)):
        with django_assert_max_num_queries(most):
            text(user, f"/clusters/lab/{path}")


def test_a_rack_says_which_work_it_takes_and_when_it_will_be_empty(user: Client, cluster: str) -> None:
    assert "No job runs here." in text(user, "/clusters/lab/racks/r4/")
    job = submit(16, time_limit_s=3600)
    run_pass(NAME)
    placed = live(NAME).catch_up().jobs[job]
    rack, until = placed.slices[0].domain, placed.submitted_at + 4 * HOUR
    report(RackStateChanged(rack=rack, state=RackState.NO_NEW_LONG_JOBS, until=until, reason="new pump", by="op"))
    page = " ".join(text(user, f"/clusters/lab/racks/{rack}/").split())
    assert re.search(r"No new long jobs</span></b>, maintenance from <time [^>]*>[^<]*</time>: new pump\. ", page)
    assert re.search(r"1 job runs here; empty at about <time [^>]*>[^<]*</time> if nothing else starts\.", page)

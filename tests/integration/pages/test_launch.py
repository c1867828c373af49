"""Ranks and launch on the page of a job."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import ParallelPlan
from clusters.domain.jobs import JobKind, JobRequest
from frontend.pages import launch
from scheduling.services import job_submit, node_mark, run_pass
from tests.support.lab import NAME, finish, start

pytestmark = pytest.mark.django_db


def submit(**fields: Any) -> str:
    made = job_submit(cluster=NAME, request=JobRequest(**{"name": "train", "kind": JobKind.TRAINING, **fields}), by="bob")
    assert isinstance(made, str)
    run_pass(NAME)
    return made


def shown(client: Client, job: str) -> str:
    answer: Any = client.get(f"/clusters/lab/parts/jobs/{job}/launch/")
    assert answer.status_code == 200
    content: str = answer.content.decode()
    return content


def test_the_page_of_a_placed_job_fetches_its_ranks(user: Client, cluster: str) -> None:
    job, late = submit(nodes=32), submit(nodes=64)
    address = f'data-live-fragment="/clusters/lab/parts/jobs/{job}/launch/"'
    assert address in user.get(f"/clusters/lab/jobs/{job}/").content.decode()
    assert "/launch/" not in user.get(f"/clusters/lab/jobs/{late}/").content.decode()
    assert shown(user, late).strip() == ""
    assert user.get("/clusters/lab/parts/jobs/j999999/launch/").status_code == 404


def test_a_plan_is_drawn_priced_and_set_apart_from_what_others_measured(user: Client, cluster: str) -> None:
    page = shown(user, submit(nodes=32, plan=ParallelPlan(ep=64, dp=2)))
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="rank-grid"') == 2
    assert "ranks 64–127 · replica 1" in page
    estimated, _, published = page.partition("What others measured")
    assert "deepseek-v3" in estimated
    assert estimated.count("groups torn") == 2
    for figure in ("-43 %", "up to 60 %", "3.9x", "up to 4.4x", "+14.4 %", "13.9x"):
        assert figure in published
        assert figure not in estimated


def test_without_a_plan_there_are_files_and_no_prices(user: Client, cluster: str) -> None:
    job = submit(nodes=2)
    page = shown(user, job)
    assert f'href="/api/v1/clusters/lab/jobs/{job}/launch/?format=torchrun&amp;generation=1"' in page
    assert "estimated" not in page
    assert "rank-group" not in page


def test_a_stalled_job_says_what_is_missing(user: Client, cluster: str) -> None:
    job = submit(nodes=64)
    start(job)
    for node in ("r1-n01", "r1-n17", "r1-n18"):
        assert node_mark(cluster=cluster, node=node, verb=NodeVerb.FAIL, by="op") is None
        run_pass(cluster)
    page = shown(user, job)
    assert "1 slot without a node" in page
    assert "format=ranks" in page
    assert "format=hostfile" not in page


def test_a_job_that_has_ended_shows_its_last_ranks(user: Client, cluster: str) -> None:
    job = submit(nodes=2)
    start(job)
    finish(job)
    assert "generation 1" in shown(user, job)


def test_only_so_many_slices_are_drawn(user: Client, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "MOST_DRAWN", 1)
    page = shown(user, submit(nodes=48))
    assert page.count('class="rank-grid"') == 1
    assert "2 more slices" in page

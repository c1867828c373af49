"""The form that submits a job."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from clusters.eventlog.live import live
from frontend.pages.durations import seconds_of, span_of
from frontend.pages.forms import JobForm

pytestmark = pytest.mark.django_db

PATH = "/clusters/lab/jobs/new/"


def fields(**changed: str) -> dict[str, str]:
    """What a browser sends."""
    sent = {"name": "train", "kind": "training", "team": "", "priority": "0", "unit": "nodes", "nodes": "32", "recovery": "checkpoint"}
    return {**sent, "restartable": "on", **changed}


def test_a_job_is_submitted_and_its_page_opened(user: Client, cluster: str) -> None:
    more = {"slice_size": "8", "max_slice": "16", "spares": "1", "expected_run_time": "1d 12h", "checkpoint_interval": "45 min"}
    answer = user.post(PATH, fields(team="red", priority="5", recovery="peer", **more))
    (job,) = live("lab").catch_up().jobs.values()
    assert answer.headers["Location"] == f"/clusters/lab/jobs/{job.id}/"
    request = job.request
    assert (request.nodes, request.gpus, request.slice_size, request.max_slice, request.spares) == (32, None, 8, 16, 1)
    assert (request.expected_run_s, request.checkpoint_interval_s, request.recovery, request.team) == (129_600, 2_700, "peer", "red")
    assert (request.priority, request.restartable, job.submitted_by) == (5, True, "bob")


def test_gpus_are_asked_for_instead_of_nodes(user: Client, cluster: str) -> None:
    assert user.post(PATH, fields(unit="gpus", gpus="2", nodes="")).status_code == 302
    (job,) = live("lab").catch_up().jobs.values()
    assert (job.request.nodes, job.request.gpus) == (None, 2)


def test_interactive_work_is_never_restartable(user: Client, cluster: str) -> None:
    user.post(PATH, fields(kind="interactive"))
    (job,) = live("lab").catch_up().jobs.values()
    assert job.request.restartable is False


WRONG = {
    "no name": ({"name": ""}, "name", "This field is required."),
    "no number of nodes": ({"nodes": ""}, "nodes", "Say how many nodes."),
    "no number of GPUs": ({"unit": "gpus"}, "gpus", "Say how many GPUs."),
    "words for a number": ({"nodes": "many"}, "nodes", "Give a whole number."),
    "too many nodes": ({"nodes": "999999"}, "nodes", "Give a whole number from 1 to 100000."),
    "more than there is": ({"nodes": "100"}, "nodes", "Give at most 64 nodes."),
    "a unit that does not divide": (
        {"slice_size": "24", "nodes": "32"},
        "nodes",
        "Give a multiple of slice_size (24), or ask for a tail slice of 8.",
    ),
    "a time without a unit": ({"expected_run_time": "36"}, "expected_run_time", "Give a time with its unit, such as 36h, 45min or 1d 12h."),
    "a time of no length": ({"checkpoint_interval": "0s"}, "checkpoint_interval", "Give a whole number from 1 to 315360000."),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_at_its_field_with_what_would_be_right(user: Client, cluster: str, case: str) -> None:
    changed, field, message = WRONG[case]
    answer: Any = user.post(PATH, fields(**changed))
    assert answer.status_code == 422
    assert answer.context["form"].errors[field] == [message]
    assert not live("lab").catch_up().jobs


def test_the_form_starts_with_what_is_usual(user: Client, cluster: str) -> None:
    page: Any = user.get(PATH)
    assert page.status_code == 200
    assert 'name="unit" value="nodes" checked' in page.content.decode()


def test_a_new_form_complains_of_nothing() -> None:
    assert not JobForm().errors


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("36h", 129_600),
        ("45min", 2_700),
        ("1d 12h", 129_600),
        ("90 s", 90),
        ("2H30M", 9_000),
        ("", None),
        ("36", None),
        ("h", None),
        ("3 weeks", None),
        ("1h x", None),
        ("-1h", None),
    ],
)
def test_spans_are_read_as_people_type_them(typed: str, seconds: int | None) -> None:
    assert seconds_of(typed) == seconds


def test_spans_are_told_as_they_are_typed() -> None:
    assert [span_of(seconds) for seconds in (0, 59, 129_600, 9_000)] == ["0 s", "59 s", "1 d 12 h", "2 h 30 min"]
    assert all(seconds_of(span_of(seconds)) == seconds for seconds in (1, 61, 3_661, 90_061))

"""The form that submits a job."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

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
        "Give a multiple of the slice unit (24), or ask for a tail slice of 8.",
    ),
    "a time without a unit": ({"expected_run_time": "36"}, "expected_run_time", "Give a time with its unit, such as 36h, 45min or 1d 12h."),
    "a layer without a size": ({"layers": "rack"}, "layers", "Give levels with their nodes, such as block 48, rack 16."),
    "layers that do not divide": ({"layers": "block 24, rack 16"}, "layers", "Give a multiple of the layer inside it (16)."),
    "a required level without a name": ({"mode": "required"}, "level", "Name the level that is required."),
    "a degree of nothing": ({"plan_tp": "0"}, "plan_tp", "Give a whole number from 1 to 1000000."),
    "a part of no size": ({"part_1_name": "a"}, "part_1_nodes", "Say how many nodes."),
    "parts that do not add up": ({"part_0_name": "a", "part_0_nodes": "8"}, "nodes", "Give the nodes of all parts together (8)."),
    "a day that is none": ({"not_before": "tomorrow"}, "not_before", "Give day and time, such as 2026-03-01T18:30."),
    "a job that is none": ({"after": "j000001"}, "after", "Name a job of this cluster that has not ended long ago."),
    "a time of no length": ({"checkpoint_interval": "0s"}, "checkpoint_interval", "Give a whole number from 1 to 315360000."),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_at_its_field_with_what_would_be_right(user: Client, cluster: str, case: str) -> None:
    changed, field, message = WRONG[case]
    answer: Any = user.post(PATH, fields(**changed))
    assert answer.status_code == 422
    assert answer.context["form"].errors[field] == [message]
    assert not live("lab").catch_up().jobs
    page = answer.content.decode()
    tag = page.split(f'name="{field}"')[1].split(">")[0]
    assert 'aria-invalid="true"' in tag
    assert f'id_{field}_error"' in tag
    assert f'id="id_{field}_error">' in page
    assert f'<a href="#id_{field}" data-error-link>' in page
    assert page.count(escape(message)) == 1, "the summary repeats what the field says"


def test_no_two_fields_are_called_the_same() -> None:
    labels = [field.label for name, field in JobForm().fields.items() if name != "unit"]
    assert len(labels) == len(set(labels))


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


def test_the_preview_reads_the_form_as_the_form_is_read(user: Client, cluster: str) -> None:
    path = "/clusters/lab/parts/jobs/preview/"
    wanted: Any = user.post(path, fields(name="", plan_tp="4", plan_ep="4", nodes="")).json()
    assert (wanted["slices"], wanted["wrong"]) == ([4], False)
    sized: Any = user.post(path, fields(nodes="32", layers="rack 8")).json()
    assert (sized["slices"], sized["wrong"]) == ([8, 8, 8, 8], False)
    for changed, text in (
        ({"nodes": "100"}, "give at most 64 nodes"),
        ({"layers": "rack"}, "Layers: Give levels with their nodes"),
        ({"level": "row"}, "Keep together in one: Give one of those offered."),
    ):
        told: Any = user.post(path, fields(**changed)).json()
        assert told["wrong"] is True
        assert text in told["text"]


def test_what_was_typed_into_a_folded_section_is_not_hidden(user: Client, cluster: str) -> None:
    page: Any = user.post(PATH, fields(nodes="", part_0_name="trainer", part_1_name="", after="j1"))
    assert page.context["form"].opened == {"parts", "start"}
    assert page.context["form"].errors["after"] == ["Give ids of jobs, such as j000123."]
    assert user.get(PATH).context["form"].opened == set()


def test_times_and_jobs_to_follow_are_read(user: Client, cluster: str) -> None:
    user.post(PATH, fields(nodes="1"))
    (first,) = live("lab").catch_up().jobs
    user.post(PATH, fields(nodes="1", not_before="2026-03-01T18:30", after=f"{first},", time_limit="2h", priority_class="batch", tail="on"))
    request = live("lab").catch_up().jobs[max(live("lab").catch_up().jobs)].request
    assert (request.not_before, request.after, request.time_limit_s) == (1_772_389_800_000_000, (first,), 7200)
    assert (request.priority_class, request.tail) == ("batch", True)

"""`manage.py launch` and `manage.py parallel` as people type them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from clusters.domain.commands import NodeVerb
from clusters.domain.constraints import ParallelPlan
from clusters.domain.jobs import JobKind, JobRequest
from clusters.eventlog.store import create_cluster
from scheduling.domain.parallelism.models import MODELS
from scheduling.services import job_submit, node_mark, run_pass
from tests.support.lab import NAME, finish, make_lab, start


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def placed() -> str:
    make_lab()
    request = JobRequest(name="train", kind=JobKind.TRAINING, nodes=32, plan=ParallelPlan(ep=64, dp=2))
    job = job_submit(cluster=NAME, request=request, by="bob")
    assert isinstance(job, str)
    run_pass(NAME)
    start(job)
    return job


@pytest.mark.django_db
def test_launch_writes_the_present_assignment_and_earlier_ones() -> None:
    job = placed()
    assert run("launch", job, "--cluster", NAME, "--format", "nodelist") == "r1-n[01-16],r2-n[01-16]\n"
    node_mark(cluster=NAME, node="r1-n03", verb=NodeVerb.FAIL, by="op")
    run_pass(NAME)
    assert run("launch", job, "--cluster", NAME, "--format", "nodelist") == "r1-n[01-02,04-17],r2-n[01-16]\n"
    assert run("launch", job, "--cluster", NAME).splitlines()[5] == "r1-n17 slots=4"
    assert run("launch", job, "--cluster", NAME, "--format", "nodelist", "--generation", "1") == "r1-n[01-16],r2-n[01-16]\n"
    ranks = json.loads(run("launch", job, "--cluster", NAME, "--format", "ranks"))
    assert (ranks["generation"], ranks["ranks"][8]["node"]) == (2, "r1-n17")
    finish(job)
    assert json.loads(run("launch", job, "--cluster", NAME, "--format", "ranks"))["generation"] == 2


@pytest.mark.django_db
def test_launch_says_what_is_wrong() -> None:
    placed()
    waiting = job_submit(cluster=NAME, request=JobRequest(name="late", kind=JobKind.BATCH, nodes=64, held=True), by="bob")
    assert isinstance(waiting, str)
    for words, message in (
        ((waiting, "--cluster", NAME), "is held and has no nodes"),
        (("j999999", "--cluster", NAME), "there is no job 'j999999'"),
        ((waiting, "--cluster", "none"), "none"),
    ):
        with pytest.raises(CommandError, match=message):
            run("launch", *words)


def report(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("parallel", *words, "--json"))
    return found


def test_64_expert_ranks_want_one_slice_of_16_nodes() -> None:
    found = report("--ep", "64")
    assert (found["advice"]["max_slice"], found["advice"]["slices"]) == (16, [16])
    assert found["links"]["ratio"] == 18
    assert [cost["model"] for cost in found["costs"]] == ["deepseek-v3"]


def test_the_table_tells_estimates_from_published_figures() -> None:
    lines = run("parallel", "--tp", "8", "--ep", "8", "--dp", "2").splitlines()
    estimated = next(place for place, line in enumerate(lines) if line.startswith("estimated: "))
    published = lines.index("published: measured by others, nothing here derives it")
    fitted = next(place for place, line in enumerate(lines) if line.startswith("fitted: "))
    assert estimated < published < fitted
    assert "each node in another domain" in "\n".join(lines[estimated:published])
    for figure in ("-43 %", "up to 60 %", "3.9x", "up to 4.4x", "+14.4 %"):
        assert any(figure in line for line in lines[published:fitted])
        assert not any(figure in line for line in lines[:published])


def test_links_and_shapes_can_be_told() -> None:
    slow, fast = (
        report("--tp", "64", "--model", "gpt3-175b", "--fabric-gbps", gbps)["costs"][0]["placements"][2] for gbps in ("400", "800")
    )
    assert slow["terms"]["tp"]["outside_s"] == pytest.approx(2 * fast["terms"]["tp"]["outside_s"])
    half = report("--tp", "64", "--model", "gpt3-175b", "--layers", "48")["costs"][0]
    assert half["model"] == "gpt3-175b, changed"
    whole = report("--tp", "64", "--model", "gpt3-175b")["costs"][0]
    assert MODELS["gpt3-175b"].layers == 96
    assert whole["placements"][0]["seconds"] == pytest.approx(2 * half["placements"][0]["seconds"])


@pytest.mark.django_db
def test_a_cluster_brings_its_nodes_and_domains() -> None:
    make_lab()
    assert report("--ep", "64", "--cluster", NAME)["advice"]["max_slice"] == 16
    create_cluster("empty", by="test")
    with pytest.raises(CommandError, match="no nodes yet"):
        report("--ep", "64", "--cluster", "empty")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--tp", "6"), "multiple of 4"),
        (("--tp", "0"), "plan.tp"),
        (("--tp", "8", "--overlap", "2"), "share from 0 to 1"),
        (("--tp", "8", "--fabric-gbps", "0"), "fabric_gbps"),
        (("--tp", "8", "--layers", "2"), "--model is missing"),
        (("--tp", "8", "--cluster", "x", "--domain-nodes", "9"), "exclude each other"),
    ],
)
def test_what_makes_no_sense_is_named(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run("parallel", *words)

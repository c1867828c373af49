"""The page of one job: all that it asks for, what would start it, and what it had."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from clusters.domain.commands import NodeVerb
from clusters.domain.decision import Refusal
from clusters.eventlog.live import live
from frontend.jobrequests import request_of
from frontend.pages.requestview import part_names
from frontend.pages.whyview import TITLES
from scheduling.domain.counterfactuals import Kind
from scheduling.services import job_hold, job_submit, node_mark, policy_change, run_pass
from tests.support.lab import NAME, finish, start
from tests.support.shared import ROOT

pytestmark = pytest.mark.django_db

PARTS: list[dict[str, Any]] = [
    {"name": "trainer", "nodes": 16, "slice_size": 8, "level": "rack", "mode": "required"},
    {"name": "rollout", "nodes": 8, "max_slice": 4},
]


def submit(**fields: Any) -> str:
    made = job_submit(cluster=NAME, request=request_of({"name": "train", "kind": "training", **fields}), by="bob")
    assert not isinstance(made, Refusal), made
    run_pass(NAME)
    return made


def text(client: Client, path: str) -> str:
    answer: Any = client.get(f"/clusters/{NAME}/{path}")
    assert answer.status_code == 200
    content: str = answer.content.decode()
    return content


def facts(client: Client, job: str) -> dict[str, str]:
    answer: Any = client.get(f"/clusters/{NAME}/jobs/{job}/")
    return {fact["label"]: fact["value"] for fact in answer.context["facts"]}


def test_all_that_was_asked_for_is_told(user: Client, cluster: str) -> None:
    first = submit(nodes=1)
    job = submit(
        nodes=32,
        level="block",
        mode="preferred",
        layers=[{"level": "block", "size": 32}, {"level": "rack", "size": 16}],
        plan={"tp": 4, "ep": 8, "dp": 4},
        exclusive=True,
        priority_class="production",
        time_limit_s=5400,
        not_before=10**15,
        after=[first],
    )
    told = facts(user, job)
    assert told["Keeps together"] == "in one block if one has room"
    assert told["Layers"] == "block 32, rack 16"
    assert told["Plan"] == "TP 4 × EP 8 × DP 4"
    assert told["Class"] == "production"
    assert told["Time limit"] == "1 h 30 min"
    assert (told["After"], told["Not before"]) == (first, "2001-09-09 01:46:40 UTC")
    assert "Exclusive" in told
    assert facts(user, first).keys().isdisjoint({"Layers", "Plan", "Class", "Exclusive", "After", "Preempted"})


def test_slices_say_which_part_they_are(user: Client, cluster: str) -> None:
    job = submit(kind="rl", parts=PARTS)
    page: Any = user.get(f"/clusters/{NAME}/jobs/{job}/")
    assert [part["part"] for part in page.context["slices"]] == ["trainer", "rollout", "rollout"]
    assert facts(user, job)["Part trainer"] == "16 nodes, slice unit 8, in one rack, or it waits"


def test_slices_fall_to_parts_in_order() -> None:
    parts = request_of({"name": "x", "kind": "rl", "parts": PARTS}).parts
    assert part_names(parts, [8, 8, 4, 4]) == ["trainer", "trainer", "rollout", "rollout"]
    assert part_names((), [16]) == [""]


def test_an_ended_job_keeps_the_slices_that_it_had(user: Client, cluster: str) -> None:
    job = submit(nodes=16)
    start(job)
    node_mark(cluster=NAME, node="r1-n01", verb=NodeVerb.FAIL, by="ada")
    run_pass(NAME)
    finish(job)
    assert job not in live(NAME).catch_up().jobs
    page: Any = user.get(f"/clusters/{NAME}/jobs/{job}/")
    (had,) = page.context["had"]
    assert (had["domain"], had["size"]) == ("r1", 16)
    assert had["nodes"].split(", ")[0] == "r1-n17"
    assert "Slices it had" in page.content.decode()
    facts_by_api: Any = user.get(f"/api/v1/clusters/{NAME}/jobs/{job}/").json()
    assert [part["domain"] for part in facts_by_api["slices"]] == ["r1"]


def test_a_job_that_never_ran_had_none(user: Client, cluster: str) -> None:
    job = submit(nodes=16, held=True)
    user.post(f"/api/v1/clusters/{NAME}/jobs/{job}/cancel/", {}, "application/json")
    assert "Slices it had" not in text(user, f"jobs/{job}/")


def test_what_would_start_it_is_fetched_by_itself(user: Client, cluster: str) -> None:
    running = submit(nodes=64, time_limit_s=3600)
    job = submit(nodes=16)
    page = text(user, f"jobs/{job}/")
    assert f'data-live-fragment="/clusters/{NAME}/parts/jobs/{job}/why/"' in page
    assert "when" not in page.split("Why it waits")[1].split("</section>")[0]
    part = text(user, f"parts/jobs/{job}/why/")
    assert "Number 1 of 1 in the queue." in part
    assert f"when {running} ends." in part
    by_api: Any = user.get(f"/api/v1/clusters/{NAME}/jobs/{job}/why/").json()
    assert by_api["counterfactuals"][0]["params"] == {"jobs": [running]}


def test_a_held_job_says_so(user: Client, cluster: str) -> None:
    held = submit(nodes=4, held=True)
    assert "Submitted on hold." in text(user, f"jobs/{held}/")
    assert "It would start if it were released." in text(user, f"parts/jobs/{held}/why/")
    submit(nodes=64)
    job = submit(nodes=16)
    job_hold(cluster=NAME, job=job, by="ada", reason="budget")
    assert "Held: budget." in text(user, f"jobs/{job}/")


def test_a_stalled_job_says_what_it_lacks_and_what_would_let_it_go_on(user: Client, cluster: str) -> None:
    job = submit(nodes=64)
    start(job)
    for node in live(NAME).catch_up().jobs[job].slices[0].nodes[:3]:
        node_mark(cluster=NAME, node=str(node), verb=NodeVerb.FAIL, by="ada")
    run_pass(NAME)
    page = text(user, f"jobs/{job}/")
    assert "Why a slice is stalled" in page
    assert "Looking for what would let it go on" in page
    assert "1 more free node in r1 would make room." in page
    part = " ".join(text(user, f"parts/jobs/{job}/why/").split())
    assert "Lacks 3 of 16 nodes in r1, which has 2 to spare. Nearest elsewhere, with free nodes: r2 (2 of 16)" in part
    assert "What would let it go on" in part
    assert "It would go on if node r1-n01 (failed) were back in service." in part
    by_api: Any = user.get(f"/api/v1/clusters/{NAME}/jobs/{job}/why/").json()
    assert (by_api["state"], by_api["code"]) == ("stalled", "capacity-blocked")
    assert by_api["lacks"][0] | {"best": []} == {"slice": 0, "nodes": 16, "missing": 3, "domain": "r1", "free": 2, "best": []}
    out = io.StringIO()
    call_command("why", job, cluster=NAME, stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith(f"{job} is stalled. Slice 0 lacks 3 of its 16 nodes and r1 has 2 to spare; elsewhere it needs 1 domain")
    assert lines[1].startswith("Slice 0 lacks 3 of 16 nodes in r1; nearest elsewhere, by free nodes: r2 (2)")
    assert "What would let it go on:" in lines


def test_a_job_that_holds_after_too_many_recoveries_says_until_when_and_what_else_would_do(user: Client, cluster: str) -> None:
    policy = replace(live(NAME).catch_up().policy, recoveries_per_hour=1)
    assert policy_change(cluster=NAME, policy=policy, expected=1, by="ada", reason="test") is None
    job = submit(nodes=16)
    start(job)
    for slot in (0, 1):
        node = live(NAME).catch_up().jobs[job].slices[0].nodes[slot]
        node_mark(cluster=NAME, node=str(node), verb=NodeVerb.FAIL, by="ada")
        run_pass(NAME)
    page = text(user, f"jobs/{job}/")
    assert "Why a slice is stalled" in page
    assert "Its lost nodes were replaced 1 time in the last hour, the policy&#x27;s limit; it goes on at " in page
    part = " ".join(text(user, f"parts/jobs/{job}/why/").split())
    assert "It goes on in about 60 min, when enough of its recoveries are an hour ago." in part
    assert "It would go on if the policy&#x27;s recoveries_per_hour were 2 instead of 1." in part
    by_api: Any = user.get(f"/api/v1/clusters/{NAME}/jobs/{job}/why/").json()
    assert (by_api["code"], by_api["counts"]["limit"], by_api["lacks"]) == ("recovery_budget", 1, [])
    assert [found["kind"] for found in by_api["counterfactuals"]] == ["time", "policy"]
    events: Any = user.get(f"/clusters/{NAME}/events/?kind=SliceStalled")
    assert "its lost nodes were replaced 1 time" in events.content.decode().lower()


def test_a_job_that_the_next_pass_places_says_so(user: Client, cluster: str) -> None:
    running = submit(nodes=64)
    job = submit(nodes=16)
    start(running)
    finish(running)
    assert "It starts with the next pass." in text(user, f"parts/jobs/{job}/why/")


def test_what_would_start_no_job_is_not_found(user: Client, cluster: str) -> None:
    for path in (f"/clusters/{NAME}/parts/jobs/j999999/why/", f"/api/v1/clusters/{NAME}/jobs/j999999/why/"):
        assert user.get(path).status_code == 404


def test_every_kind_of_answer_has_a_heading_and_a_row_in_the_guide() -> None:
    kinds = {kind.value for kind in Kind}
    assert TITLES.keys() == kinds
    guide = (ROOT / "docs" / "guides" / "why.md").read_text(encoding="utf-8").split("## What would let it start")[1]
    assert set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE)) == kinds


def test_a_job_that_nodes_are_kept_for_says_when_and_where_it_starts_at_the_latest(user: Client, cluster: str) -> None:
    running = [submit(nodes=16, time_limit_s=hours * 3600) for hours in (1, 2, 3, 4)]
    for job in running:
        start(job)
    waiting = submit(nodes=32)
    kept = live(NAME).catch_up().reservations[waiting]
    page = " ".join(text(user, f"jobs/{waiting}/").split())
    assert re.search(rf"Starts at about <time [^>]*>[^<]*</time> if what runs ends as planned, on r1, r2: {kept.reason}\.", page)
    answer: Any = user.get(f"/api/v1/clusters/{NAME}/jobs/{waiting}/").json()
    assert answer["kept"] == {
        "starts_at_us": kept.starts_at,
        "nodes": list(kept.nodes),
        "domains": ["r1", "r2"],
        "reason": f"starts once job {running[1]} has ended",
    }
    assert user.get(f"/api/v1/clusters/{NAME}/jobs/{running[0]}/").json()["kept"] is None

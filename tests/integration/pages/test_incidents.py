"""What pages say of nodes that failed, of the breaker, and of what was seen before."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from clusters.domain.health_events import NodeFailed, NodeQuarantined, RepairFinished, RepairStarted
from clusters.domain.ids import DAY
from clusters.domain.incident_events import BreakerTripped, IncidentOpened
from clusters.domain.inventory_events import NodeRegistered
from clusters.domain.jobs import JobKind, JobRequest
from clusters.eventlog.live import live
from frontend.selectors.clusters import now_of
from frontend.selectors.evidence import sayings
from scheduling.services import job_submit, run_pass
from tests.support.lab import NAME, report
from tests.support.signals import lasting, off_bus

pytestmark = pytest.mark.django_db

FLEET = f"/clusters/{NAME}/"
INCIDENTS = f"{FLEET}parts/incidents/"
PAGE = f"{FLEET}incidents/"
BREAKER = f"{FLEET}parts/breaker/"
RACK = f"{FLEET}racks/r1/"
STRANGE = "<script>alert(1)</script>"


def text(client: Client, path: str) -> str:
    answer: Any = client.get(path)
    assert answer.status_code == 200, answer
    content: str = answer.content.decode()
    return content


def test_the_fleet_page_names_an_incident_its_cause_and_the_jobs_it_concerns(user: Client, cluster: str) -> None:
    job = job_submit(cluster=NAME, request=JobRequest(name="train", kind=JobKind.TRAINING, nodes=16), by="bob")
    run_pass(NAME)
    nodes = tuple(f"r1-n{number:02d}" for number in range(1, 4))
    report(
        *(NodeFailed(node=node, reason="NVLink fault") for node in nodes),
        NodeFailed(node="r3-n01", reason=STRANGE),
        IncidentOpened(domain="r1", nodes=nodes, cause="switch tray 3", since=10**15, evidence=("r1-n01: xid:149",)),
    )
    for path in (FLEET, INCIDENTS):
        page = text(user, path)
        assert "3 nodes of r1" in page
        assert "switch tray 3" in page
        assert "r1-n01: xid:149" in page
        assert f"/clusters/{NAME}/jobs/{job}/" in page
        assert page.index("3 nodes of r1") < page.index(">r3-n01</a>")  # one alone comes after those of one cause
        assert STRANGE not in page


def test_only_the_first_of_many_are_named_and_the_others_are_counted(user: Client, cluster: str) -> None:
    report(*(NodeFailed(node=f"r2-n{number:02d}", reason=f"fell {number} times") for number in range(1, 10)))
    page = text(user, INCIDENTS)
    assert page.count("<li>") == 4
    assert "5 more nodes" in page
    assert text(user, PAGE).count("<li>") == 9


def test_single_nodes_of_the_same_cause_and_minute_are_one_row(user: Client, cluster: str) -> None:
    report(*(NodeFailed(node=f"r{rack}-n01", reason="down at the start") for rack in (1, 2, 3)), NodeFailed(node="r1-n02", reason="fan"))
    for path in (INCIDENTS, PAGE):
        page = text(user, path)
        assert page.count("<li>") == 2
        assert "3 nodes in 3 racks" in page
        assert ">r1-n02</a>" in page
    assert ">r3-n01</a>" in text(user, PAGE)


def test_the_page_of_incidents_is_filtered_by_age_kind_and_rack(user: Client, cluster: str) -> None:
    now = now_of(live(NAME).catch_up())
    report(NodeFailed(node="r1-n01", reason="long ago"), at=now - 2 * DAY)
    report(
        NodeFailed(node="r2-n01", reason="fan"), NodeQuarantined(node="r3-n01", owner="ada", reason="flapping", exit_rule="a look"), at=now
    )
    shown = {"r1-n01", "r2-n01", "r3-n01"}
    for query, expected in (
        ("", shown),
        ("?age=day", {"r2-n01", "r3-n01"}),
        ("?age=older", {"r1-n01"}),
        ("?flag=quarantined", {"r3-n01"}),
        ("?rack=r2&flag=failed", {"r2-n01"}),
        ("?rack=r9", set()),
        ("?age=x&flag=y&rack=%00", shown),
    ):
        for path in (PAGE, f"{FLEET}parts/incident-rows/"):
            page = text(user, path + query)
            assert {node for node in shown if f">{node}</a>" in page} == expected, query
    assert "No open incident matches" in text(user, f"{PAGE}?rack=r9")


def test_what_is_well_again_is_told_for_a_day(user: Client, cluster: str) -> None:
    now = now_of(live(NAME).catch_up())
    report(NodeFailed(node="r1-n01", reason="fan"), RepairStarted(node="r1-n01"), RepairFinished(node="r1-n01"), at=now)
    assert "All well" in text(user, PAGE)
    assert "r1-n01 repaired" in text(user, PAGE)
    assert "r1-n01 repaired" not in text(user, f"{PAGE}?age=older")


def test_evidence_is_told_in_words_with_its_code_beside_it(user: Client, cluster: str) -> None:
    report(off_bus("r1-n03"))
    run_pass(NAME)
    page = " ".join(text(user, PAGE).split())
    assert re.search(r"GPU fell off the bus, gpu 1 <code>xid:79</code> .*?>event \d+</a>", page)
    assert "xid:79 gpu 1" not in page


@pytest.mark.parametrize(
    ("told", "words", "code"),
    [
        ("kmsg: xid:79 gpu 1 fell (event 7)", "GPU has fallen off the bus", "xid:79"),
        ("kmsg: something odd (event 7)", "something odd", ""),
        ("xid:79", "GPU has fallen off the bus", "xid:79"),
        ("dcgm:DCGM_FR_ECC_PENDING", "DCGM: ecc pending", "dcgm:DCGM_FR_ECC_PENDING"),
        ("hardware fault", "hardware fault", ""),
    ],
)
def test_what_nobody_remembers_is_told_by_its_code(cluster: str, told: str, words: str, code: str) -> None:
    (said,) = sayings(live(NAME).catch_up(), (), (told,))
    assert (said.words, said.code) == (words, code)


def test_nothing_wrong_is_said_too(user: Client, cluster: str) -> None:
    assert "No node is failed or quarantined" in text(user, INCIDENTS)
    assert text(user, BREAKER).strip() == ""


def test_nodes_without_a_domain_are_counted_since_nothing_uses_them(user: Client, cluster: str) -> None:
    assert "without a domain" not in text(user, INCIDENTS)
    report(*(NodeRegistered(node=f"r4-n{number}", rack="r4", domain=None, gpus=4) for number in (30, 31)))
    for path in (FLEET, INCIDENTS, PAGE):
        page = text(user, path)
        assert "2 nodes without a domain are never used" in page
        assert "All well" not in page


def test_a_tripped_breaker_is_shown_to_all_and_reset_by_those_who_may(user: Client, admin: Client, cluster: str) -> None:
    report(BreakerTripped(out=3, wanted=20, limit=18, reason="verdicts would have 23 of 72 nodes out, more than 18"))
    for path in (FLEET, BREAKER):
        assert "The breaker has tripped" in text(user, path)
        assert "23 of 72 nodes out" in text(user, path)
        assert "breaker/reset/" not in text(user, path)
        assert f"/api/v1/clusters/{NAME}/breaker/reset/" in text(admin, path)
    assert admin.post(f"/api/v1/clusters/{NAME}/breaker/reset/", {}, content_type="application/json").status_code == 200
    assert text(user, BREAKER).strip() == ""


def test_a_rack_page_unfolds_what_was_seen_of_its_nodes(user: Client, cluster: str) -> None:
    report(lasting("r1-n02"), off_bus("r1-n03"))
    run_pass(NAME)
    page = text(user, RACK)
    assert set(re.findall(r'id="past-([^"]+)"', page)) == {"r1-n02", "r1-n03"}
    own = page[page.index('id="past-r1-n03"') :]
    own = own[: own.index("</details>")]
    assert "taken out 1×" in own
    assert "xid:79 of gpu 1: GPU fell off the bus" in own
    assert re.search(r"Lemon score</dt><dd>1\.00", own)


def test_repair_of_a_failed_node_does_not_read_like_another_condition(user: Client, cluster: str) -> None:
    report(NodeFailed(node="r1-n01", reason="fan"), RepairStarted(node="r1-n01"), RepairStarted(node="r1-n02"))
    page = text(user, RACK)
    assert page.count("repair is under way (test)") == 1  # of the failed one, which counts as failed
    assert page.count("in repair (test)") == 1


def test_only_who_may_is_offered_the_state_of_a_rack(user: Client, admin: Client, cluster: str) -> None:
    assert "rack-control" not in text(user, RACK)
    page = text(admin, RACK)
    assert f'data-action-url="/api/v1/clusters/{NAME}/racks/r1/state/" data-action-method="PUT"' in page
    assert '<option value="open" selected>' in page
    done = admin.put(f"/api/v1/clusters/{NAME}/racks/r1/state/", {"state": "draining"}, content_type="application/json")
    assert done.status_code == 200
    assert '<option value="out" selected>' in text(admin, RACK) or '<option value="draining" selected>' in text(admin, RACK)

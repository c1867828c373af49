"""What pages say of nodes that failed, of the breaker, and of what was seen before."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from clusters.domain.health_events import NodeFailed
from clusters.domain.incident_events import BreakerTripped, IncidentOpened
from clusters.domain.jobs import JobKind, JobRequest
from scheduling.services import job_submit, run_pass
from tests.support.lab import NAME, report
from tests.support.signals import lasting, off_bus

pytestmark = pytest.mark.django_db

FLEET = f"/clusters/{NAME}/"
INCIDENTS = f"{FLEET}parts/incidents/"
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
    report(*(NodeFailed(node=f"r2-n{number:02d}", reason="fell") for number in range(1, 10)))
    page = text(user, INCIDENTS)
    assert page.count("<li>") == 6
    assert "and 3 more" in page


def test_nothing_wrong_is_said_too(user: Client, cluster: str) -> None:
    assert "No node is failed or quarantined" in text(user, INCIDENTS)
    assert text(user, BREAKER).strip() == ""


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


def test_only_who_may_is_offered_the_state_of_a_rack(user: Client, admin: Client, cluster: str) -> None:
    assert "rack-control" not in text(user, RACK)
    page = text(admin, RACK)
    assert f'data-action-url="/api/v1/clusters/{NAME}/racks/r1/state/" data-action-method="PUT"' in page
    assert '<option value="open" selected>' in page
    done = admin.put(f"/api/v1/clusters/{NAME}/racks/r1/state/", {"state": "draining"}, content_type="application/json")
    assert done.status_code == 200
    assert '<option value="out" selected>' in text(admin, RACK) or '<option value="draining" selected>' in text(admin, RACK)

"""Repaired nodes that wait for their check: over the API, on the rack's page, and in the words of events."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from clusters.domain.health_events import NodeChecked, NodeCheckRequested, NodeFailed, RepairFinished
from clusters.domain.state import SIMULATED
from frontend.selectors.telling import tone_of, words_of
from scheduling.services import run_pass
from tests.api.calls import Api
from tests.support.lab import NAME, make_lab, report

pytestmark = pytest.mark.django_db

CLUSTER = f"clusters/{NAME}/"
NODE = f"{CLUSTER}nodes/r1-n01/"
PAGE = f"/clusters/{NAME}/racks/r1/"
AT = 10**15


@pytest.fixture
def cluster(db: None) -> str:
    """An engine drives it, and does not answer."""
    return make_lab(SIMULATED)


def repair() -> None:
    report(NodeFailed(node="r1-n01", reason="dead"), RepairFinished(node="r1-n01"), at=AT)
    run_pass(NAME)


def test_a_node_says_since_when_it_waits_and_racks_and_clusters_count_it(admin: Api, cluster: str) -> None:
    assert admin.get(NODE).body["unchecked_since_us"] is None
    repair()
    node = admin.get(NODE).body
    assert (node["unchecked_since_us"], node["condition"], node["use"]) == (AT + 1, "healthy", "out")
    assert admin.get(f"{CLUSTER}racks/r1/").body["rack"]["unchecked"] == 1
    assert admin.get(CLUSTER).body["unchecked"] == 1
    report(NodeChecked(node="r1-n01", number=1, passed=True), at=AT + 10)
    assert admin.get(NODE).body["unchecked_since_us"] is None
    assert admin.get(CLUSTER).body["unchecked"] == 0


def test_an_operator_vouches_by_releasing_the_node(admin: Api, cluster: str) -> None:
    assert admin.post(f"{NODE}release/").status == 409
    repair()
    released = admin.post(f"{NODE}release/", {"reason": "burnt in by hand"})
    assert (released.status, released.body["unchecked_since_us"]) == (200, None)
    assert released.body["use"] != "out"


def test_the_racks_page_says_that_it_waits_and_lets_who_may_vouch_for_it(admin: Api, cluster: str) -> None:
    browser: Client = admin.client
    assert "/release/" not in browser.get(PAGE).content.decode()
    repair()
    page = browser.get(PAGE).content.decode()
    assert re.search(r"repaired; waits for its check since <time", page)
    assert re.findall(r'data-action-url="[^"]*/nodes/([^/]+)/release/"', page) == ["r1-n01"]
    assert "You vouch for it" in page
    assert "It is checked, and takes work again once it has passed." not in page  # nothing is to be repaired now
    report(NodeChecked(node="r1-n01", number=1, passed=False, detail="link 3 <down>"), at=AT + 10)
    page = browser.get(PAGE).content.decode()
    assert "failed: did not pass its check: link 3 &lt;down&gt; (check)" in page
    assert "It is checked, and takes work again once it has passed." in page
    assert "/release/" not in page


def test_events_say_how_a_check_ended() -> None:
    asked = NodeCheckRequested(node="n1", number=2)
    passed, failed = (NodeChecked(node="n1", number=2, passed=passed, detail="ended with code 3") for passed in (True, False))
    assert words_of(asked) == ("n1 is to be checked", "it was repaired")
    assert words_of(passed) == ("n1 passed its check", "ended with code 3")
    assert words_of(failed) == ("n1 did not pass its check", "ended with code 3")
    assert [tone_of(event) for event in (asked, passed, failed)] == ["", "good", "bad"]

"""The list of events: filters and positions in the address, deep links, payloads in words, following."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from clusters.domain.events import PAYLOADS
from clusters.domain.health_events import NodeDegraded, NodeFailed, NodeRecovered
from clusters.domain.jobs import JobKind, JobRequest
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from frontend.pages import eventlist
from frontend.selectors import eventlist as selector
from frontend.selectors.eventlist import GROUPS, EventFilter, events_after, events_before
from frontend.selectors.payloads import payload_lines
from scheduling.services import job_submit, run_pass
from tests.integration.pages.test_pages import text
from tests.support.lab import NAME, report

pytestmark = pytest.mark.django_db

PAGE = "/clusters/lab/events/"


def seqs(page: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'<li id="(\d+)"', page)]


def head() -> int:
    return default_log().head(NAME)


def test_every_kind_of_event_is_in_one_group() -> None:
    kinds = [kind for group in GROUPS.values() for kind in group]
    assert sorted(kinds) == sorted(PAYLOADS)
    assert {"inventory", "health", "job", "policy"} <= GROUPS.keys()
    assert GROUPS["policy"] == {"PolicyActivated"}


def test_the_newest_events_are_shown_first_and_pages_lead_to_the_first(user: Client, cluster: str) -> None:
    page = text(user, PAGE)
    shown = seqs(page)
    assert shown == list(range(head(), head() - 50, -1))
    seen = list(shown)
    while older := re.search(r'href="([^"]*)" rel="next"', page):
        page = text(user, older[1].replace("&amp;", "&"))
        seen += seqs(page)
    assert seen == list(range(head(), 0, -1))
    newer = re.search(r'href="([^"]*)" rel="prev"', page)
    assert newer
    last = seqs(page)
    assert seqs(text(user, newer[1]))[-1] == last[0] + 1


def test_filters_stand_in_the_address_and_are_switched_one_by_one(user: Client, cluster: str) -> None:
    report(NodeFailed(node="r1-n01", reason="fan"), NodeRecovered(node="r1-n01", reason="fixed"), NodeFailed(node="r2-n01", reason="fan"))
    end = head()
    assert seqs(text(user, f"{PAGE}?group=health")) == [end, end - 1, end - 2]
    assert seqs(text(user, f"{PAGE}?group=health&subject=r1-n01")) == [end - 1, end - 2]
    assert seqs(text(user, f"{PAGE}?subject=r1-n01"))[-1] < end - 2  # its registration
    assert seqs(text(user, f"{PAGE}?group=policy&source=test")) == []
    both = text(user, f"{PAGE}?group=health&group=policy&source=test&subject=r1-n01")
    assert 'href="?group=policy&amp;source=test&amp;subject=r1-n01"' in both
    assert 'href="?group=health&amp;group=policy&amp;source=test"' in both
    assert 'href="?group=health&amp;group=policy&amp;source=test&amp;source=system&amp;subject=r1-n01"' in both
    assert "No event matches" in text(user, f"{PAGE}?subject=nobody")


def test_the_subject_of_a_form_keeps_the_other_filters(user: Client, cluster: str) -> None:
    page = text(user, f"{PAGE}?group=health&source=test")
    assert '<input type="hidden" name="group" value="health">' in page
    assert '<input type="hidden" name="source" value="test">' in page


def test_a_deep_link_shows_the_event_among_its_neighbours(user: Client, cluster: str) -> None:
    page = text(user, f"{PAGE}?at=30")
    assert 30 in seqs(page)
    assert seqs(page)[0] > 30 > seqs(page)[-1]
    assert 'href="?at=30#30"' in page
    assert "data-live-fragment" not in page


def test_the_end_of_the_log_is_followed_until_that_is_switched_off(user: Client, cluster: str) -> None:
    page = text(user, f"{PAGE}?group=health")
    assert 'data-live-fragment="/clusters/lab/parts/log/?group=health" data-live-any' in page
    assert 'href="?group=health&amp;follow=off"' in page
    still = text(user, f"{PAGE}?group=health&follow=off")
    assert "data-live-fragment" not in still
    assert "data-live-fragment" not in text(user, f"{PAGE}?before=20")
    report(NodeDegraded(node="r1-n02", reason="slow"))
    assert seqs(text(user, "/clusters/lab/parts/log/?group=health")) == [head()]


def test_an_event_says_all_that_it_carries(user: Client, cluster: str) -> None:
    job = job_submit(cluster=NAME, request=JobRequest(name="<b>train</b>", kind=JobKind.TRAINING, nodes=32), by="bob")
    run_pass(NAME)
    page = text(user, f"{PAGE}?subject={job}")
    assert "&lt;b&gt;train&lt;/b&gt;" in page
    assert "<b>train" not in page
    assert "r1-n[01-16] (16)" in page
    assert f'href="/clusters/lab/jobs/{job}/"' in page
    assert "JobPlaced, version 1" in page
    clock = text(user, f"{PAGE}?group=inventory&at=2")
    assert re.search(r"<dt>cluster time</dt><dd><span>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC</span>", clock)


def test_every_payload_of_a_log_can_be_told(cluster: str) -> None:
    job_submit(cluster=NAME, request=JobRequest(name="small", kind=JobKind.BATCH, gpus=2), by="bob")
    run_pass(NAME)
    told = {event.kind: payload_lines(event.payload) for event in default_log().read(NAME)}
    assert {"ClusterCreated", "ClockSet", "PolicyActivated", "JobSubmitted", "JobPlaced"} <= told.keys()
    for lines in told.values():
        assert all(line.values for line in lines)
        assert all(value for line in lines for value in line.values)


@pytest.mark.parametrize("window", [1, 7, 2_000])
def test_reading_backwards_skips_and_repeats_nothing(cluster: str, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    monkeypatch.setattr(selector, "_WINDOW", window)
    every = EventFilter()
    found = events_before(NAME, every, None, head() + 10)
    assert [event.seq for event in found.events] == list(range(head(), 0, -1))
    assert (found.oldest, found.newest) == (1, head())


def test_a_filter_that_matches_seldom_looks_at_no_more_than_so_much(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selector, "MOST_READ", 20)
    wanted = EventFilter(groups=("policy",))
    found = events_before(NAME, wanted, None, 50)
    assert (found.events, found.oldest, found.newest) == ([], head() - 19, head())
    positions = []
    while found.oldest > 1:
        found = events_before(NAME, wanted, found.oldest, 50)
        positions += [event.seq for event in found.events]
    assert positions == [3]
    forwards = events_after(NAME, wanted, 3, 50)
    assert (forwards.events, forwards.newest) == ([], 23)


@pytest.mark.parametrize(
    "query",
    ["before=x", "before=-1", "after=99999999999999999999", "at=0", "before=0", "after=9999", "group=lost", "subject=%00", "source=%00"],
)
def test_an_address_that_makes_no_sense_is_as_if_it_were_not_there(user: Client, cluster: str, query: str) -> None:
    text(user, f"{PAGE}?{query}")


def test_the_page_takes_few_queries(user: Client, cluster: str, django_assert_max_num_queries: Any) -> None:
    live(NAME).catch_up()
    text(user, PAGE)
    with django_assert_max_num_queries(12):
        text(user, f"{PAGE}?group=health")
    assert eventlist.PAGE_SIZE == 50


def test_a_cluster_that_is_not_there_has_no_events(user: Client, cluster: str) -> None:
    for path in ("/clusters/other/events/", "/clusters/other/parts/log/"):
        missing: Any = user.get(path)
        assert missing.status_code == 404

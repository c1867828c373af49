"""Spares in the background: the advice is kept, is for domains that still lack spares, and goes with its log."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.jobs import JobKind, JobRequest
from clusters.eventlog.live import live
from clusters.eventlog.maintenance import remove_cluster
from config.celery import app
from scheduling.models import SparesReview
from scheduling.services import job_submit, node_mark, run_pass
from scheduling.spares import spares_get, spares_review
from tasks import spares
from tests.support.lab import make_lab, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> str:
    """A job of two slices in r1 and r2; r3 and r4 are free."""
    name = make_lab()
    job = job_submit(cluster=name, request=JobRequest(name="train", kind=JobKind.TRAINING, nodes=32), by="ada")
    assert isinstance(job, str)
    run_pass(name)
    start(job)
    return name


def mark(node: str, verb: NodeVerb) -> None:
    assert node_mark(cluster="lab", node=node, verb=verb, by="op") is None
    run_pass("lab")


def test_nobody_has_looked_before_the_first_look(cluster: str) -> None:
    found = spares_get(cluster)
    assert [(spares.domain, spares.target, spares.present) for spares in found.domains] == [("r1", 2, 2), ("r2", 2, 2)]
    assert (found.below, found.review) == ((), None)


def test_a_look_keeps_what_would_restore_a_domain_and_changes_nothing(cluster: str) -> None:
    mark("r1-n01", NodeVerb.FAIL)
    head = live(cluster).catch_up().seq
    spares.review(cluster)
    assert live(cluster).catch_up().seq == head
    found = spares_get(cluster)
    assert [(lacking.domain, lacking.missing) for lacking in found.below] == [("r1", 1)]
    assert found.review is not None
    (restoration,) = found.review.restorations
    (move,) = restoration.moves
    assert (found.review.seq, restoration.domain, move.slice, move.to.domain, len(move.to.nodes)) == (head, "r1", 0, "r3", 16)


def test_a_second_look_at_the_same_state_does_nothing(cluster: str) -> None:
    assert spares_review(cluster)
    assert not spares_review(cluster)
    mark("r1-n01", NodeVerb.FAIL)
    assert spares_review(cluster)
    assert SparesReview.objects.count() == 1


def test_a_repaired_node_ends_the_advice_at_once(cluster: str) -> None:
    mark("r1-n01", NodeVerb.FAIL)
    spares.review(cluster)
    mark("r1-n01", NodeVerb.REPAIR)
    found = spares_get(cluster)
    assert [(kept.domain, kept.present) for kept in found.domains] == [("r1", 2), ("r2", 2)]
    assert found.review is not None
    assert found.review.restorations == ()


def test_the_look_goes_to_every_cluster_and_forgets_those_that_are_gone(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(spares.review, "delay", sent.append)
    spares_review(cluster)
    spares.look()
    assert (sent, SparesReview.objects.count()) == ([cluster], 1)
    remove_cluster(cluster, "test", "gone")
    spares.review(cluster)  # a message that was on its way
    spares.look()
    assert (sent, SparesReview.objects.count()) == ([cluster], 0)


def test_the_worker_and_the_beat_know_the_tasks_and_they_are_slow_ones() -> None:
    assert "tasks.spares" in app.conf.imports
    entry = app.conf.beat_schedule["spares"]
    assert entry["task"] == spares.look.name
    assert all(
        app.amqp.router.route({}, task.name).get("queue", app.amqp.default_queue).name == "slow" for task in (spares.look, spares.review)
    )

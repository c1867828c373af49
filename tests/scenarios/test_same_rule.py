"""S5: the same 32 nodes through every way in get the same slices, and what can never fit is refused at submission with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from clusters.domain.events import NewEvent
from clusters.domain.job_events import JobSubmitted
from clusters.eventlog.live import live
from clusters.eventlog.store import append_facts, create_cluster
from scheduling.services import job_submit, run_pass
from tests.support.world import World, ask, inventory, racks

pytestmark = pytest.mark.django_db

NAME = "same"
NODES = [[f"r{rack}-n{node}" for node in range(1, 17)] for rack in (1, 2)]


@pytest.fixture
def client() -> Client:
    """A signed-in user of a cluster of four racks."""
    create_cluster(NAME)
    append_facts(NAME, [NewEvent(payload, 0, "import", str(number)) for number, payload in enumerate(inventory(racks(4)))])
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


def _page(client: Client, nodes: int) -> str:
    fields = {"name": "work", "kind": "training", "unit": "nodes", "nodes": nodes, "recovery": "checkpoint", "priority": 0}
    answer = client.post(f"/clusters/{NAME}/jobs/new/", fields)
    return "" if answer.status_code == 302 else answer.content.decode()


def _api(client: Client, nodes: int) -> str:
    answer = client.post(f"/api/v1/clusters/{NAME}/jobs/", {"name": "work", "kind": "training", "nodes": nodes}, "application/json")
    return "" if answer.status_code == 201 else answer.content.decode()


def _service(_: Client, nodes: int) -> str:
    outcome = job_submit(cluster=NAME, request=ask(nodes), by="ada")
    return "" if isinstance(outcome, str) else outcome.message


WAYS: dict[str, Callable[[Client, int], str]] = {"page": _page, "api": _api, "service": _service}


def _placed() -> list[list[str | None]]:
    run_pass(NAME)
    with live(NAME).reading() as state:
        (job,) = state.jobs.values()
        return [part.nodes for part in job.slices]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_places_the_same_nodes(client: Client, way: str) -> None:
    assert WAYS[way](client, 32) == ""
    assert _placed() == NODES


def test_a_trace_places_the_same_nodes(client: Client) -> None:
    append_facts(NAME, [NewEvent(JobSubmitted(request=ask(32), submitted_by="trace"), 0, "fleet", "1")])
    assert _placed() == NODES


def test_the_engine_without_a_database_places_the_same_nodes() -> None:
    assert [part.nodes for part in World(racks(4)).run(ask(32)).slices] == NODES


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_refuses_what_can_never_fit_with_what_would(client: Client, way: str) -> None:
    assert "ive at most 64 nodes" in WAYS[way](client, 100)
    with live(NAME).reading() as state:
        assert not state.jobs

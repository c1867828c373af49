"""What is measured, and who may read it."""

from __future__ import annotations

from collections import defaultdict

import pytest
from django.db import connection, transaction
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from clusters.domain.commands import NodeVerb
from config import env
from config.metrics import count_request, exposition
from scheduling import services
from tasks import heartbeat, passes
from tests.support.lab import make_lab, project_all
from tests.support.world import ask

Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]

TOKEN = "t" * 32


def measured() -> Samples:
    """Name -> labels -> value."""
    found: Samples = defaultdict(dict)
    for family in text_string_to_metric_families(exposition().decode()):
        for sample in family.samples:
            found[sample.name][tuple(sorted(sample.labels.items()))] = sample.value
    return found


def of(cluster: str, samples: dict[tuple[tuple[str, str], ...], float]) -> dict[str, float]:
    """The values of a cluster by its other label."""
    return {
        next((value for name, value in labels if name != "cluster"), ""): value
        for labels, value in samples.items()
        if ("cluster", cluster) in labels
    }


@pytest.mark.django_db
def test_nodes_and_jobs_are_those_of_the_state_and_both_partitions_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_noted", {})
    lab = make_lab()
    services.job_submit(cluster=lab, request=ask(32), by="ada")
    services.job_submit(cluster=lab, request=ask(72), by="ada")
    services.node_mark(cluster=lab, node="r4-n18", verb=NodeVerb.FAIL, by="op")
    passes.run_pass(lab)
    project_all()
    services.job_submit(cluster=lab, request=ask(16), by="ada")
    found = measured()
    conditions, uses = of(lab, found["slicekeeper_nodes"]), of(lab, found["slicekeeper_nodes_use"])
    assert sum(conditions.values()) == sum(uses.values()) == 72
    assert (conditions["failed"], uses["allocated"], uses["spare"]) == (1, 32, 4)
    jobs = of(lab, found["slicekeeper_jobs"])
    assert (jobs["placed"], sum(jobs.values())) == (1, 2)
    head = of(lab, found["slicekeeper_log_head"])[""]
    assert head > 72
    assert set(of(lab, found["slicekeeper_projection_lag_events"]).values()) == {1.0}
    assert 0 <= of(lab, found["slicekeeper_pass_age_seconds"])[""] < 60
    assert found["slicekeeper_database_up"][()] == 1


@pytest.mark.django_db
def test_a_projection_that_has_caught_up_has_no_lag_and_a_pass_that_never_ran_no_age() -> None:
    lab = make_lab()
    project_all()
    found = measured()
    assert set(of(lab, found["slicekeeper_projection_lag_events"]).values()) == {0.0}
    assert of(lab, found["slicekeeper_pass_age_seconds"]) == {}


@pytest.mark.django_db
def test_requests_are_counted_by_route_and_never_by_path(client: Client) -> None:
    def count(**labels: str) -> float:
        return measured()["slicekeeper_http_requests_total"].get(tuple(sorted(labels.items())), 0)

    login = {"route": "frontend:login", "method": "GET", "status": "200"}
    nothing = {"route": "none", "method": "GET", "status": "404"}
    before = count(**login), count(**nothing)
    client.get("/login/")
    for number in range(3):
        client.get(f"/no/such/page/{number}")
    assert (count(**login), count(**nothing)) == (before[0] + 1, before[1] + 3)
    assert not any("such" in value for labels in measured()["slicekeeper_http_requests_total"] for _, value in labels)


def test_an_invented_method_makes_no_new_series() -> None:
    from config.metrics import _requests

    for method in ("BREW", "PROPFIND"):
        count_request("none", method, 405, 0.1)
    methods = {sample.labels["method"] for family in _requests.collect() for sample in family.samples}
    assert "other" in methods
    assert not methods & {"BREW", "PROPFIND"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("headers", "address", "status"),
    [
        ({"host": "127.0.0.1:8001"}, "127.0.0.1", 200),
        ({"host": "localhost"}, "::1", 200),
        ({"host": "[::1]:8001"}, "::1", 200),
        ({"host": "127.0.0.1:8001"}, "10.0.0.7", 404),
        ({"host": "gpu.example.org"}, "127.0.0.1", 404),
        ({"host": "localhost", "x-forwarded-for": "127.0.0.1"}, "127.0.0.1", 404),
        ({"host": "localhost", "forwarded": "for=127.0.0.1"}, "127.0.0.1", 404),
        ({"host": "localhost"}, "", 404),
    ],
)
def test_without_a_token_only_this_machine_reads_them(headers: dict[str, str], address: str, status: int, client: Client) -> None:
    assert client.get("/metrics", headers=headers, REMOTE_ADDR=address).status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "status"), [(f"Bearer {TOKEN}", 200), ("", 404), ("Bearer ", 404), (f"Bearer {TOKEN}x", 404), (f"Basic {TOKEN}", 404)]
)
def test_with_a_token_it_is_needed_from_everywhere(given: str, status: int, client: Client, settings: Settings) -> None:
    settings.ENVIRONMENT = env.read({env.METRICS_TOKEN: TOKEN}, settings.BASE_DIR)
    answer = client.get("/metrics", headers={"host": "localhost", "authorization": given}, REMOTE_ADDR="127.0.0.1")
    assert answer.status_code == status


OLDEST = "slicekeeper_database_oldest_transaction_seconds"


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_somebody_left_open_shows_with_its_age() -> None:
    if connection.vendor != "postgresql":
        assert OLDEST not in measured(), "SQLite does not tell"
        return
    other = connection.copy()
    try:
        assert measured()[OLDEST][()] < 60
        with transaction.atomic():  # of the one who asks: it does not count
            other.set_autocommit(False)
            with other.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(0.2)")
            assert measured()[OLDEST][()] >= 0.2
    finally:
        other.close()

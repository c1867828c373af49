"""What programs of a job report, and what its failures have cost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from clusters.domain.commands import NodeVerb
from clusters.domain.events import Event
from clusters.eventlog.store import default_log
from config.metrics import exposition
from frontend.accounts.roles import Role
from scheduling.services import node_mark, run_pass
from tests.api.calls import Api, job
from tests.support.lab import NAME, start
from tests.support.people import browser_of, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(user: Api, cluster: str) -> str:
    """A job of bob's with two nodes."""
    name: str = user.post("clusters/lab/jobs/", job(nodes=2, team="vision", recovery="peer")).body["id"]
    run_pass(NAME)
    start(name)
    return name


def test_a_checkpoint_is_noted_once_under_its_key_and_shown_with_the_job(user: Api, running: str) -> None:
    path = f"clusters/lab/jobs/{running}/checkpoint/"
    for _ in range(2):
        answer = user.post(path, {"step": 4000}, **{"Idempotency-Key": "a"})
        assert (answer.status, answer.body) == (200, {"job": running, "generation": 1, "step": 4000, "at_us": None})
    told = user.get(f"clusters/lab/jobs/{running}/").body
    assert told["checkpoint_step"] == 4000
    assert told["checkpoint_at_us"] >= told["started_at_us"]
    kinds = [event["kind"] for event in user.get(f"clusters/lab/events/?subject={running}").body["items"]]
    assert kinds.count("CheckpointReported") == 1


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [({}, 422, "step"), ({"step": -1}, 422, "step"), ({"step": "x"}, 422, "step"), ({"step": 1, "generation": 9}, 409, None)],
)
def test_what_is_no_checkpoint_is_refused(user: Api, running: str, body: dict[str, object], status: int, field: str | None) -> None:
    answer = user.post(f"clusters/lab/jobs/{running}/checkpoint/", body)
    assert answer.status == status
    assert field is None or answer.body["errors"][0]["field"] == field


def test_only_who_may_act_on_a_job_reports_its_progress(running: str) -> None:
    carol = Api(browser_of(make_user("carol", Role.RESEARCHER)))
    assert carol.post(f"clusters/lab/jobs/{running}/checkpoint/", {"step": 1}).status == 403


def test_what_a_failure_has_cost_is_told_of_the_job_its_team_and_the_cluster(user: Api, running: str) -> None:
    node = user.get(f"clusters/lab/jobs/{running}/assignment/").body["slots"][0]["node"]
    node_mark(cluster=NAME, node=node, verb=NodeVerb.FAIL, by="op")
    run_pass(NAME)
    start(running)
    run_pass(NAME)
    (lost,) = user.get(f"clusters/lab/jobs/{running}/").body["lost_work"]
    assert (lost["cause"], lost["times"]) == ("node-failed", 1)
    assert lost["rollback_gpu_s"] + lost["stall_gpu_s"] > 0
    (of_team,) = user.get("clusters/lab/").body["lost_work"]
    assert of_team == {"team": "vision", **{key: lost[key] for key in ("cause", "rollback_gpu_s", "stall_gpu_s")}}
    (family,) = (family for family in text_string_to_metric_families(exposition().decode()) if "lost_work" in family.name)
    measured = {sample.labels["what"]: sample.value for sample in family.samples if sample.labels["team"] == "vision"}
    assert measured == {"rollback": lost["rollback_gpu_s"], "stall": lost["stall_gpu_s"]}
    page = user.client.get(f"/clusters/lab/jobs/{running}/").content.decode()
    assert "Lost work" in page
    assert "A node failed" in page


def test_of_a_long_job_only_what_is_new_is_read_when_its_workers_ask_again(
    user: Api, running: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    log = default_log()
    about = log.about

    def read(cluster: str, subject: str, after: int = 0) -> Iterator[Event]:
        asked.append(after)
        return about(cluster, subject, after)

    monkeypatch.setattr(log, "about", read)
    path = f"clusters/lab/jobs/{running}/assignment/?after="
    first = user.get(f"{path}0").body
    for step in range(3):
        user.post(f"clusters/lab/jobs/{running}/checkpoint/", {"step": step})
    head = log.head(NAME)
    asked.clear()
    assert user.get(f"{path}0").body == {**first, "checkpoint_step": 2}
    assert user.get(f"{path}1").body["stays"] == first["came"]
    assert asked == [head - 3], "and nothing at all the second time"
    node_mark(cluster=NAME, node=first["came"][0], verb=NodeVerb.FAIL, by="op")
    run_pass(NAME)
    swapped = user.get(f"{path}1").body
    assert (swapped["generation"], swapped["left"], len(swapped["came"])) == (2, first["came"][:1], 1)
    assert all(position >= head - 3 for position in asked)

"""Capacity and spares over the API: the model's figures, the cluster's own, and plain words for questions that make no sense."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.health_events import NodeFailed, RepairFinished
from clusters.domain.ids import DAY
from frontend.selectors import capacity as selector
from scheduling.capacity import ClusterCapacity, recorded_capacity
from scheduling.services import node_mark, run_pass
from scheduling.spares import spares_review
from tests.api.calls import Api, job
from tests.support.lab import project_all, report, start

pytestmark = pytest.mark.django_db

PATH = "clusters/lab/capacity/"
ANCHOR = "racks=128&nodes_per_rack=18&unavailability=0.02"


def test_the_figures_of_the_model(user: Api, cluster: str) -> None:
    body = user.get(f"{PATH}?{ANCHOR}&sizes=8,9,16,18").body
    assert body["usable"] == {"8": 2042.7, "9": 1952.8, "16": 2037.3, "18": 1601.6}
    assert (body["nodes"], body["measured"], body["now"], body["advice"]) == (2304, None, None, None)
    assert body["interruptions"] == {"node_days": 490.0, "rack_days": 27.2, "fleet_hours": 5.1, "fleet_per_day": 4.7}
    assert "27 %" in body["caveats"][0]
    assert "independent failures" in body["caveats"][0]
    assert user.get(f"{PATH}?{ANCHOR}&sizes=18%2B16,17").body["usable"] == {"18+16": 2215.3, "17": 2068.3}
    assert user.get(f"{PATH}?{ANCHOR}&rho=0.05&sizes=16,18").body["usable"] == {"16": 1984.8, "18": 1776.3}


def test_the_clusters_own_say_what_its_log_says_and_what_it_has_now(user: Api, cluster: str) -> None:
    for day in range(30):
        report(NodeFailed(node=f"r{day % 4 + 1}-n03", reason="dead"), at=(day + 1) * DAY)
        report(RepairFinished(node=f"r{day % 4 + 1}-n03"), at=(day + 1) * DAY + DAY // 2)
    for node in ("r1-n01", "r1-n02", "r1-n04", "r2-n01"):
        assert node_mark(cluster=cluster, node=node, verb=NodeVerb.FAIL, by="op") is None
    project_all()
    body = user.get(PATH).body
    assert body["usable"].keys() == {"8", "9", "16", "18"}
    assert body["domains"] == [{"nodes": 18, "count": 4}]
    assert body["now"] == {"nodes": 72, "unavailable": 4, "levels": [[18, 15, 1], [18, 17, 1], [18, 18, 2]]}
    assert body["measured"]["usable_now"] == {"8": 56, "9": 54, "16": 48, "18": 36}
    assert body["measured"]["interruptions"]["count"] == 34
    assert body["unavailability"] == pytest.approx(body["measured"]["unavailability"]["value"], abs=1e-5)
    assert user.get(f"{PATH}?unavailability=0.25").body["unavailability"] == 0.25


def test_the_report_follows_the_log(user: Api, cluster: str) -> None:
    before = user.get(f"{PATH}?sizes=18").body
    assert node_mark(cluster=cluster, node="r1-n01", verb=NodeVerb.FAIL, by="op") is None
    after = user.get(f"{PATH}?sizes=18").body
    assert (before["measured"]["usable_now"], after["measured"]["usable_now"]) == ({"18": 72}, {"18": 54})
    assert after["seq"] == before["seq"] + 1


def test_a_log_is_never_folded_for_a_report(user: Api, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second question at the same position costs no more than a look-up."""
    made: list[str] = []

    def noted(name: str) -> ClusterCapacity:
        made.append(name)
        return recorded_capacity(name)

    monkeypatch.setattr(selector, "recorded_capacity", noted)
    monkeypatch.setattr("scheduling.capacity.watch_log", None)
    monkeypatch.setattr(selector, "wall_now", lambda: 0)
    for _ in range(3):
        assert user.get(PATH).status == 200
    assert made == ["lab"]


@pytest.mark.parametrize(
    ("query", "field", "expected"),
    [
        ("sizes=0", "sizes", "give 1 to 8 slice sizes"),
        ("sizes=16,x", "sizes", "give 1 to 8 slice sizes"),
        ("sizes=1,2,3,4,5,6,7,8,9", "sizes", "give 1 to 8 slice sizes"),
        ("sizes=2%2B3%2B4%2B5", "sizes", "give 1 to 8 slice sizes"),
        ("sizes=1025", "slices", "give a whole number from 1 to 1024"),
        (f"sizes={'1' * 100}", "sizes", "give 0 to 80 printable characters"),
        ("racks=0", "racks", "give a whole number from 1 to 2000"),
        ("racks=1&nodes_per_rack=73", "nodes_per_rack", "give a whole number from 1 to 72"),
        ("unavailability=2", "unavailability", "give a number from 0 to 1"),
        ("unavailability=nan", "unavailability", "give a number from 0 to 1"),
        ("rho=1e400", "rho", "give a number from 0 to 1"),
        ("whole_rack_share=-0.1", "whole_rack_share", "give a number from 0 to 1"),
        ("node_days=0", "node_days", "give a number from 0.001 to 400000"),
        ("slices=16", "slices", "there is no such field"),
    ],
)
def test_what_makes_no_sense_is_named(user: Api, cluster: str, query: str, field: str, expected: str) -> None:
    answer = user.get(f"{PATH}?{query}")
    assert answer.status == 422
    assert answer.body["code"] == "invalid"
    (error,) = answer.body["errors"]
    assert error["field"] == field
    assert expected in error["expected"]


def test_a_cluster_that_is_not_there_has_no_capacity(user: Api, cluster: str) -> None:
    assert user.get("clusters/none/capacity/").status == 404
    assert user.get(f"clusters/none/capacity/?{ANCHOR}").status == 404
    assert user.get("clusters/none/spares/").status == 404


def test_spares_say_who_lacks_some_and_what_would_restore_it(user: Api, cluster: str) -> None:
    name = user.post("clusters/lab/jobs/", job()).body["id"]
    run_pass(cluster)
    start(name)
    assert node_mark(cluster=cluster, node="r1-n01", verb=NodeVerb.FAIL, by="op") is None
    run_pass(cluster)
    spares_review(cluster)
    body = user.get("clusters/lab/spares/").body
    assert [body[key] for key in ("target", "present", "missing", "lent")] == [4, 3, 1, 0]
    assert body["domains"] == [
        {"domain": "r1", "target": 2, "present": 1, "missing": 1},
        {"domain": "r2", "target": 2, "present": 2, "missing": 0},
    ]
    (advice,) = body["advice"]
    (move,) = advice["moves"]
    assert (advice["domain"], advice["missing"], move["job"], move["name"], move["slice"]) == ("r1", 1, name, "train", 0)
    assert (move["domain"], len(move["to"]), len(move["nodes"])) == ("r3", 16, 16)
    assert body["advice_seq"] == body["seq"]

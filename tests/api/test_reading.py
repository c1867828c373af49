"""Clusters, snapshots, racks, nodes, events and policy over the API."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest

from scheduling.services import run_pass
from tests.api.calls import BASE, Api, job

pytestmark = pytest.mark.django_db

LAB = "clusters/lab/"


def test_clusters_are_listed_in_figures(user: Api, cluster: str) -> None:
    (lab,) = user.get("clusters/").body["items"]
    assert (lab["name"], lab["racks"], lab["nodes"], lab["fleet"]) == ("lab", 4, 72, None)
    assert (lab["condition"]["healthy"], lab["use"]["idle"], lab["use"]["stranded"]) == (72, 64, 8)
    assert user.get(LAB).body == lab


def test_an_unknown_cluster_is_not_found_wherever_it_stands(user: Api, cluster: str) -> None:
    for path in ("", "snapshot/", "policy/", "racks/", "nodes/", "jobs/", "jobs/preview/?nodes=1", "events/", "inventory/", "racks/r1/"):
        missing = user.get(f"clusters/other/{path}")
        assert (missing.status, missing.body["code"]) == (404, "unknown-cluster"), path
    assert user.post("clusters/other/jobs/", job()).status == 404
    assert user.get("clusters/no such name/").body["code"] == "not-found"


def test_a_snapshot_names_its_position_and_is_sent_once(user: Api, cluster: str) -> None:
    first = user.get(f"{LAB}snapshot/")
    body = first.body
    assert first.headers["ETag"] == f'"{body["epoch"]}-{body["seq"]}"'
    assert len(base64.b64decode(body["use"])) == len(body["nodes"]) == len(body["node_job"]) == 72
    assert set(first.headers["Vary"].split(", ")) == {"Accept-Encoding", "Cookie"}
    assert user.get(f"{LAB}snapshot/", **{"If-None-Match": first.headers["ETag"]}).status == 304
    user.post(f"{LAB}jobs/", job())
    run_pass(cluster)
    second = user.get(f"{LAB}snapshot/", **{"If-None-Match": first.headers["ETag"]})
    assert (second.status, second.body["counts"]["use"]["allocated"], second.body["jobs"]) == (200, 32, ["j000080"])


def test_a_snapshot_is_compressed_for_those_who_take_it(user: Api, cluster: str) -> None:
    packed: Any = user.client.get(f"{BASE}{LAB}snapshot/", headers={"Accept-Encoding": "br, gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.content)) == user.get(f"{LAB}snapshot/").body


def test_a_session_is_looked_for_by_head(user: Api, anonymous: Api, cluster: str) -> None:
    assert user.client.head(f"{BASE}{LAB}snapshot/").status_code == 200
    assert anonymous.client.head(f"{BASE}{LAB}snapshot/").status_code == 401


def test_racks_are_listed_as_drawn_and_described(user: Api, cluster: str) -> None:
    racks = user.get(f"{LAB}racks/").body["items"]
    assert [(rack["name"], rack["block"], rack["first"], rack["nodes"]) for rack in racks][2:] == [
        ("r3", "b2", 36, 18),
        ("r4", "b2", 54, 18),
    ]
    found = user.get(f"{LAB}racks/r2/").body
    assert (found["rack"]["domains"], found["rack"]["switch_trays"], found["rack"]["condition"]) == (["r2"], 9, {"healthy": 18})
    assert [node["name"] for node in found["nodes"]] == [f"r2-n{number:02d}" for number in range(1, 19)]
    assert user.get(f"{LAB}racks/r9/").body["code"] == "unknown-subject"


def test_nodes_are_read_in_pages_of_the_drawn_order(user: Api, cluster: str) -> None:
    seen: list[str] = []
    query = "?limit=30"
    while query:
        page = user.get(f"{LAB}nodes/{query}").body
        seen += [node["name"] for node in page["items"]]
        query = f"?limit=30&after={page['next']}" if page["next"] else ""
    assert seen == [f"r{rack}-n{node:02d}" for rack in range(1, 5) for node in range(1, 19)]
    assert user.get(f"{LAB}nodes/?after=nobody").status == 404


def test_a_node_tells_who_uses_it(user: Api, cluster: str) -> None:
    whole = user.post(f"{LAB}jobs/", job(nodes=16)).body["id"]
    part = user.post(f"{LAB}jobs/", job(nodes=None, gpus=3, kind="interactive")).body["id"]
    run_pass(cluster)
    nodes = {node["job"]: node for node in user.get(f"{LAB}nodes/").body["items"]}
    assert (nodes[whole]["use"], nodes[whole]["gpus_used"], nodes[whole]["jobs"]) == ("allocated", 4, [whole])
    assert (nodes[part]["use"], nodes[part]["gpus_used"], nodes[part]["jobs"]) == ("shared", 3, [part])
    assert user.get(f"{LAB}nodes/{nodes[part]['name']}/").body == nodes[part]


def test_events_are_read_in_order_and_from_a_position(user: Api, cluster: str) -> None:
    name = user.post(f"{LAB}jobs/", job()).body["id"]
    run_pass(cluster)
    seen: list[int] = []
    after = 0
    while True:
        page = user.get(f"{LAB}events/?limit=50&after={after}").body
        seen += [event["seq"] for event in page["items"]]
        after = page["next"]
        if after >= page["head"]:
            break
    assert seen == list(range(1, page["head"] + 1))
    story = user.get(f"{LAB}events/?subject={name}").body
    assert [event["kind"] for event in story["items"]] == ["JobSubmitted", "JobPlaced"]
    assert story["items"][0]["source"] == "user:bob"
    assert story["items"][1]["payload"]["slices"][0]["domain"] == "r1"
    only = user.get(f"{LAB}events/?kind=RackRegistered&limit=3").body
    assert [event["subject"] for event in only["items"]] == ["r1", "r2", "r3"]


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "after=9999999999999999999999", "limit=0", "limit=1001", "kind=Nothing", "subject=%0A"]
)
def test_a_wrong_query_of_events_is_named(user: Api, cluster: str, query: str) -> None:
    refused = user.get(f"{LAB}events/?{query}")
    assert (refused.status, refused.body["errors"][0]["field"]) == (422, query.split("=")[0])


def test_the_policy_in_force_is_told(user: Api, cluster: str) -> None:
    found = user.get(f"{LAB}policy/").body
    assert (found["version"], found["policy"]["target_spares"], found["policy"]["slice_size"]) == (1, 2, None)

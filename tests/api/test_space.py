"""Domains, slices and incidents over the API, and lists some at a time."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.domain.health_events import NodeQuarantined, NodeSuspected
from clusters.domain.inventory_events import NodeRegistered
from scheduling.services import run_pass
from tests.api.calls import Api, job
from tests.support.lab import report, start
from tests.support.signals import nvlink, off_bus

pytestmark = pytest.mark.django_db

LAB = "clusters/lab/"


def submit(api: Api, **fields: Any) -> str:
    made = api.post(f"{LAB}jobs/", job(**fields))
    assert made.status == 201, made.body
    return str(made.body["id"])


def everything(api: Api, path: str, cursor: str = "after") -> list[Any]:
    """All items of a list, two at a time."""
    items: list[Any] = []
    more = ""
    while True:
        page = api.get(f"{path}{'&' if '?' in path else '?'}limit=2{more}").body
        assert len(page["items"]) <= 2
        items += page["items"]
        if page["next"] is None:
            return items
        more = f"&{cursor}={page['next']}"


# ---- domains


def test_a_domain_tells_what_is_free_owed_and_running(admin: Api, cluster: str) -> None:
    name = submit(admin, nodes=16)
    run_pass(cluster)
    start(name)
    admin.post(f"{LAB}nodes/r1-n18/fail/")
    found = admin.get(f"{LAB}domains/r1/").body
    assert found == {
        "name": "r1", "block": "b1", "racks": ["r1"], "nodes": 18, "free": 1, "spares_owed": 1, "spares_target": 2, "largest_slice": 1,
        "condition": {"healthy": 17, "failed": 1}, "use": {"allocated": 16, "out": 1, "spare": 1},
        "slices": [{"job": name, "number": 0, "state": "running", "nodes": 16}],
    }  # fmt: skip
    empty = admin.get(f"{LAB}domains/r2/").body
    assert (empty["free"], empty["spares_owed"], empty["largest_slice"], empty["slices"]) == (18, 0, 16, [])
    assert admin.get(f"{LAB}domains/r9/").body["code"] == "unknown-subject"


def test_domains_are_filtered_by_place_and_by_room(admin: Api, cluster: str) -> None:
    submit(admin, nodes=12)
    run_pass(cluster)

    def names(query: str) -> list[str]:
        return [domain["name"] for domain in everything(admin, f"{LAB}domains/{query}")]

    assert names("") == ["r1", "r2", "r3", "r4"]
    assert names("?block=b2") == ["r3", "r4"]
    assert names("?rack=r2") == ["r2"]
    assert names("?fits=6") == ["r1", "r2", "r3", "r4"]
    assert names("?fits=7") == ["r2", "r3", "r4"]
    assert names("?fits=17") == []
    assert admin.get(f"{LAB}domains/?after=r9").status == 404


def test_a_domain_over_two_racks_names_both_and_a_node_without_one_is_in_none(admin: Api, cluster: str) -> None:
    halves = [NodeRegistered(node=f"h{rack}-n1", rack=f"h{rack}", domain="pair", gpus=4) for rack in (1, 2)]
    report(*halves, NodeRegistered(node="lone", rack="r1", domain=None, gpus=4))
    domains = {domain["name"]: domain for domain in everything(admin, f"{LAB}domains/")}
    assert domains["pair"]["racks"] == ["h1", "h2"]
    assert sum(domain["nodes"] for domain in domains.values()) == 74


# ---- slices


def test_slices_are_those_of_active_jobs_by_slot(admin: Api, cluster: str) -> None:
    wide, part, waiting = submit(admin, nodes=32), submit(admin, nodes=None, gpus=2), submit(admin, nodes=4, held=True)
    run_pass(cluster)
    start(wide)
    admin.post(f"{LAB}nodes/r1-n01/fail/")
    slices = everything(admin, f"{LAB}slices/")
    assert [(item["job"], item["number"], item["generation"], item["state"]) for item in slices] == [
        (wide, 0, 1, "running"),
        (wide, 1, 1, "running"),
        (part, 0, 1, "placed"),
    ]
    assert (slices[0]["domain"], len(slices[0]["nodes"]), slices[0]["nodes"].count(None)) == ("r1", 16, 1)
    assert (slices[2]["gpus"], len(slices[2]["nodes"])) == ([0, 1], 1)
    run_pass(cluster)
    assert [item["generation"] for item in everything(admin, f"{LAB}slices/?job={wide}")] == [2, 2]
    assert [item["number"] for item in everything(admin, f"{LAB}slices/?domain=r2")] == [1]
    assert everything(admin, f"{LAB}slices/?job={waiting}") == []
    admin.post(f"{LAB}jobs/{wide}/cancel/")
    assert [item["job"] for item in everything(admin, f"{LAB}slices/")] == [part]


@pytest.mark.parametrize("query", ["after=j5", "after=j000080", "state=waiting", "limit=0", "job=%0a", "slice=3"])
def test_a_query_of_slices_that_makes_no_sense_is_named(user: Api, cluster: str, query: str) -> None:
    refused = user.get(f"{LAB}slices/?{query}")
    assert (refused.status, refused.body["errors"][0]["field"]) == (422, query.split("=")[0])


# ---- incidents


def test_incidents_are_the_nodes_that_are_failed_or_quarantined(admin: Api, cluster: str) -> None:
    name = submit(admin, nodes=16)
    run_pass(cluster)
    start(name)
    held = admin.get(f"{LAB}slices/").body["items"][0]["nodes"][1]
    quarantine = NodeQuarantined(node=held, owner="ops", reason="flaps", exit_rule="by hand", evidence=("xid 79",))
    report(quarantine, NodeSuspected(node="r4-n01", reason="hot"))
    admin.post(f"{LAB}nodes/r1-n01/fail/", {"reason": "smoke"})
    admin.post(f"{LAB}nodes/r4-n02/drain/")
    alone = everything(admin, f"{LAB}incidents/")
    assert [(incident["id"], incident["cause"], incident["since_us"]) for incident in alone] == [
        ("", "smoke", alone[0]["nodes"][0]["since_us"]),
        ("", "flaps", 10**15),
    ]
    (failed,), (quarantined,) = (incident["nodes"] for incident in alone)
    assert (failed["node"], failed["rack"], failed["block"], failed["domain"]) == ("r1-n01", "r1", "b1", "r1")
    assert [(mark["flag"], mark["source"], mark["reason"]) for mark in failed["reports"]] == [("failed", "user:ada", "smoke")]
    assert failed["since_us"] == failed["reports"][0]["since_us"]
    assert failed["jobs"] == [{"job": name, "name": "train", "lost": True}]
    assert (quarantined["node"], quarantined["condition"], quarantined["since_us"]) == (held, "quarantined", 10**15)
    assert quarantined["reports"][0]["owner"] == "ops"
    assert quarantined["jobs"] == [{"job": name, "name": "train", "lost": False}]
    run_pass(cluster)  # the failed node is replaced: its job is no longer concerned
    assert admin.get(f"{LAB}incidents/?flag=failed").body["items"][0]["nodes"][0]["jobs"] == []
    admin.post(f"{LAB}nodes/r1-n01/repair/")
    admin.post(f"{LAB}nodes/{held}/release/")
    assert everything(admin, f"{LAB}incidents/") == []


def test_incidents_are_filtered_and_read_in_pages(admin: Api, cluster: str) -> None:
    nodes = [f"r{rack}-n{node:02d}" for rack in (1, 2, 3) for node in (1, 2, 3)]
    for node in nodes:
        admin.post(f"{LAB}nodes/{node}/fail/")

    def found(query: str) -> list[str]:
        return [node["node"] for incident in everything(admin, f"{LAB}incidents/{query}") for node in incident["nodes"]]

    assert found("") == nodes
    assert found("?rack=r2") == found("?domain=r2") == nodes[3:6]
    assert found("?block=b2&flag=failed") == nodes[6:]
    assert found("?flag=quarantined") == []
    assert admin.get(f"{LAB}incidents/?after=nobody").status == 404
    assert admin.get(f"{LAB}incidents/?flag=draining").status == 422


def test_nodes_that_fail_together_are_one_incident(admin: Api, cluster: str) -> None:
    report(*(nvlink(f"r2-n{number:02d}") for number in (1, 2, 3)), off_bus("r1-n01"))
    run_pass(cluster)
    together, alone = everything(admin, f"{LAB}incidents/")
    assert (together["id"][0], together["cause"]) == ("i", "xid:149")
    assert [node["node"] for node in together["nodes"]] == ["r2-n01", "r2-n02", "r2-n03"]
    assert [node["node"] for node in alone["nodes"]] == ["r1-n01"]
    assert alone["evidence"]
    assert [item["id"] for item in everything(admin, f"{LAB}incidents/?rack=r2")] == [together["id"]]


def test_the_breaker_is_told_and_reset_by_a_person(admin: Api, cluster: str) -> None:
    assert admin.get(f"{LAB}breaker/").body == {"tripped": False, "since_us": None, "reason": "", "limit": 18, "out": 0, "wanted": 0}
    assert admin.post(f"{LAB}breaker/reset/").status == 409
    nodes = [f"r{rack}-n{number:02d}" for rack in (1, 2) for number in range(1, 11)]
    report(*map(off_bus, nodes))
    run_pass(cluster)
    assert (admin.get(f"{LAB}breaker/").body["tripped"], admin.get(f"{LAB}breaker/").body["wanted"]) == (True, 20)
    assert everything(admin, f"{LAB}incidents/") == []
    assert admin.post(f"{LAB}breaker/reset/", {"reason": "a power cut"}).body["tripped"] is False
    run_pass(cluster)
    assert len(everything(admin, f"{LAB}incidents/")) == 20


# ---- racks


def test_a_rack_is_closed_and_opened_and_says_when_it_will_be_empty(admin: Api, cluster: str) -> None:
    name = submit(admin, nodes=16, time_limit_s=3600)
    run_pass(cluster)
    start(name)
    shut = admin.put(f"{LAB}racks/r1/state/", {"state": "draining", "reason": "new cables"})
    service = shut.body["service"]
    assert (service["state"], service["reason"], service["by"], service["jobs"]) == ("draining", "new cables", "ada", 1)
    assert service["empty_us"] > service["since_us"]
    assert admin.put(f"{LAB}racks/r1/state/", {"state": "draining"}).status == 409
    assert admin.put(f"{LAB}racks/r1/state/", {"state": "no_new_long_jobs"}).status == 422
    assert admin.put(f"{LAB}racks/r1/state/", {"state": "closed"}).status == 422
    assert admin.put(f"{LAB}racks/r9/state/", {"state": "out"}).status == 404
    soon = admin.put(f"{LAB}racks/r1/state/", {"state": "no_new_long_jobs", "in_s": 3600}).body["service"]
    assert soon["until_us"] is not None
    assert admin.put(f"{LAB}racks/r1/state/?dry_run=true", {"state": "open"}).body["events"][0]["kind"] == "RackStateChanged"
    assert admin.put(f"{LAB}racks/r1/state/", {"state": "open"}).body["service"]["state"] == "open"


def test_a_rack_is_removed_with_its_nodes_once_its_work_has_left(admin: Api, cluster: str) -> None:
    name = submit(admin, nodes=16)
    run_pass(cluster)
    start(name)
    refused = admin.post(f"{LAB}racks/r1/remove/", {"reason": "sold"})
    assert (refused.status, refused.body["code"]) == (409, "state")
    assert name in refused.body["detail"]
    rehearsed = admin.post(f"{LAB}racks/r2/remove/?dry_run=true").body["events"]
    assert [event["kind"] for event in rehearsed] == ["NodeRemoved"] * 18 + ["RackRemoved"]
    sent = {"Idempotency-Key": "once"}
    for _ in range(2):
        assert admin.post(f"{LAB}racks/r2/remove/", {"reason": "sold"}, **sent).body == {"rack": "r2", "nodes": 18}
    assert admin.get(f"{LAB}racks/r2/").status == 404
    assert admin.get(f"{LAB}nodes/r2-n01/").status == 404
    assert [rack["name"] for rack in everything(admin, f"{LAB}racks/")] == ["r1", "r3", "r4"]
    assert len(everything(admin, f"{LAB}nodes/")) == 54
    assert admin.post(f"{LAB}racks/r2/remove/").status == 404


# ---- lists that were there before


def test_racks_and_nodes_are_filtered_and_read_in_pages(admin: Api, cluster: str) -> None:
    admin.post(f"{LAB}nodes/r2-n05/fail/")
    admin.post(f"{LAB}nodes/r3-n05/fail/")
    submit(admin, nodes=16)
    run_pass(cluster)
    assert [rack["name"] for rack in everything(admin, f"{LAB}racks/")] == ["r1", "r2", "r3", "r4"]
    assert [rack["name"] for rack in everything(admin, f"{LAB}racks/?block=b2")] == ["r3", "r4"]
    assert admin.get(f"{LAB}racks/?after=r9").status == 404

    def names(query: str) -> list[str]:
        return [node["name"] for node in everything(admin, f"{LAB}nodes/?{query}")]

    assert names("condition=failed") == names("use=out") == ["r2-n05", "r3-n05"]
    assert names("condition=failed&block=b2") == ["r3-n05"]
    assert len(names("domain=r1&use=allocated")) == len(names("use=allocated")) == 16
    assert len(names("rack=r4")) == 18


def test_clusters_and_versions_of_a_policy_are_read_in_pages(admin: Api, cluster: str) -> None:
    rack = b"kind: SlicekeeperInventory\nracks:\n  - {name: r9, gpus: 4, nodes: 'r9-n[1-3]'}\n"
    for name in ("alpha", "zeta"):
        assert admin.send(f"clusters/{name}/inventory/?create_cluster=true", rack, "application/yaml").status == 200
    assert [found["name"] for found in everything(admin, "clusters/")] == ["alpha", "lab", "zeta"]
    for version in (1, 2, 3):
        body = {"policy": {"target_spares": version + 2}, "reason": "more", "expected_version": version}
        assert admin.client.put(f"/api/v1/{LAB}policy/", body, content_type="application/json").status_code == 200
    assert [found["version"] for found in everything(admin, f"{LAB}policy/history/", "before")] == [4, 3, 2, 1]

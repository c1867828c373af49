"""What operators may say over the API: of nodes, and of the inventory."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from frontend.api import inventory
from scheduling.services import run_pass
from tests.api.calls import BASE, Api, job
from tests.domain.inventory.slurm_files import TWO_RACKS, racks_of, slurm_answer

pytestmark = pytest.mark.django_db

LAB = "clusters/lab/"
NODE = f"{LAB}nodes/r1-n01/"

NEW_RACK = b"""
kind: SlicekeeperInventory
racks:
  - name: r9
    gpus: 4
    nodes: r9-n[1-3]
"""


def test_a_node_marked_failed_is_swapped_by_the_next_pass(admin: Api, cluster: str) -> None:
    name = admin.post(f"{LAB}jobs/", job(nodes=16)).body["id"]
    run_pass(cluster)
    failed = admin.post(f"{NODE}fail/", {"reason": "smoke"})
    assert (failed.status, failed.body["condition"]) == (200, "failed")
    assert failed.body["marks"][0]["reason"] == "smoke"
    assert failed.body["marks"][0]["source"] == "user:ada"
    run_pass(cluster)
    found = admin.get(f"{LAB}jobs/{name}/").body
    assert (found["generation"], found["swaps"]) == (2, 1)
    assert "r1-n01" not in found["slices"][0]["nodes"]
    assert (admin.post(f"{NODE}repair/").body["condition"]) == "healthy"


def test_each_verb_has_its_opposite_and_refuses_what_says_nothing_new(admin: Api, cluster: str) -> None:
    for verb, opposite, condition in (("fail", "repair", "failed"), ("drain", "undrain", "draining")):
        assert admin.post(f"{NODE}{opposite}/").status == 409
        assert admin.post(f"{NODE}{verb}/").body["condition"] == condition
        again = admin.post(f"{NODE}{verb}/")
        assert (again.status, again.body["code"]) == (409, "state")
        assert admin.post(f"{NODE}{opposite}/").body["condition"] == "healthy"
    assert admin.post(f"{NODE}release/").status == 409
    assert admin.post(f"{LAB}nodes/nobody/fail/").status == 404
    assert admin.post(f"{NODE}explode/").body["code"] == "not-found"


@pytest.mark.parametrize("body", [{"reason": 5}, {"reason": "x" * 201}, {"reason": "a\nb"}, {"why": "x"}, ["x"]])
def test_a_reason_is_one_short_line(admin: Api, cluster: str, body: Any) -> None:
    refused = admin.post(f"{NODE}fail/", body)
    assert (refused.status, refused.body["code"]) == (422, "invalid")
    assert admin.get(NODE).body["condition"] == "healthy"


def test_only_administrators_change_nodes_and_inventory(user: Api, cluster: str) -> None:
    assert user.post(f"{NODE}fail/").body["code"] == "permission-denied"
    assert user.send(f"{LAB}inventory/", NEW_RACK, "application/yaml").status == 403
    assert user.get(f"{LAB}inventory/").status == 200


def test_an_inventory_comes_in_as_a_body_or_a_form_and_once(admin: Api, cluster: str) -> None:
    before = admin.get(f"{LAB}inventory/").body
    dry = admin.send(f"{LAB}inventory/?dry_run=true", NEW_RACK, "application/yaml")
    assert (dry.status, dry.body["racks"], dry.body["nodes"]) == (200, 1, 3)
    told = [(event["kind"], event["subject"]) for event in dry.body["planned"]]
    assert len(told) == dry.body["events"] == 76
    assert told[:2] == [("RackRegistered", "r9"), ("NodeRegistered", "r9-n1")]
    assert told[-1] == ("NodeAbsent", "r4-n18")
    assert admin.get(f"{LAB}inventory/").body == before
    done = admin.send(f"{LAB}inventory/", NEW_RACK, "application/yaml")
    assert (done.body["events"], done.body["states"]["absent"], done.body["planned"]) == (dry.body["events"], 72, [])
    form: Any = admin.client.post(f"{BASE}{LAB}inventory/", {"file": SimpleUploadedFile("fleet.yaml", NEW_RACK)})
    assert (form.status_code, form.json()["events"]) == (200, 0)


def test_slurm_nodes_come_in_with_their_topology_file(admin: Api) -> None:
    nodes, topology = (
        SimpleUploadedFile("nodes.json", slurm_answer(racks_of(["a1", "b1"]))),
        SimpleUploadedFile("t.conf", TWO_RACKS.encode()),
    )
    path = f"{BASE}clusters/hpc/inventory/?create_cluster=true"
    done: Any = admin.client.post(path, {"file": nodes, "topology": topology})
    assert (done.status_code, done.json()["racks"], done.json()["nodes"]) == (200, 2, 2)
    assert {admin.get(f"clusters/hpc/nodes/{node}/").body["rack"] for node in ("a1", "b1")} == {"r1", "r2"}
    nodes.seek(0)
    text: Any = admin.client.post(path, {"file": nodes, "topology": "BlockName=r1 Nodes=a1"})
    assert (text.status_code, text.json()["errors"][0]["field"]) == (422, "topology")
    nodes.seek(0)
    bad: Any = admin.client.post(path, {"file": nodes, "topology": SimpleUploadedFile("t.conf", b"BlockName=r1 Nodes=a[1-")})
    assert (bad.status_code, bad.json()["code"]) == (422, "bad-inventory")


def test_an_import_sent_again_under_its_key_tells_what_it_did(admin: Api, cluster: str) -> None:
    def send(content: bytes, query: str = "", key: str = "k") -> Any:
        path = f"{BASE}{LAB}inventory/{query}"
        return admin.client.post(path, content, content_type="application/yaml", headers={"Idempotency-Key": key})

    assert send(NEW_RACK, "?dry_run=true").json()["events"] == 76
    first = send(NEW_RACK)
    assert admin.post(f"{LAB}nodes/r9-n1/drain/").status == 200
    head = admin.get(LAB).body["seq"]
    again = send(NEW_RACK)
    assert (first.json()["events"], again.status_code, again.json()["events"]) == (76, 200, 76)
    assert again.json()["states"]["draining"] == 1
    other = send(NEW_RACK.replace(b"1-3", b"1-4"))
    assert (other.status_code, other.json()["code"]) == (409, "source-conflict")
    assert send(NEW_RACK, "?rack_label=x/y").status_code == 409
    assert admin.get(LAB).body["seq"] == head
    assert send(NEW_RACK, key="another").json()["events"] == 0


def test_a_cluster_is_made_once_under_a_key(admin: Api) -> None:
    sent: list[Any] = [
        admin.client.post(
            f"{BASE}clusters/new/inventory/?create_cluster=true",
            NEW_RACK,
            content_type="application/yaml",
            headers={"Idempotency-Key": "k"},
        )
        for _ in range(2)
    ]
    assert sent[0].json() == sent[1].json()
    assert sent[0].json()["events"] == 4


def test_an_export_comes_back_in_without_a_change(admin: Api, cluster: str) -> None:
    out = admin.get(f"{LAB}inventory/")
    assert out.headers["Content-Type"].startswith("application/yaml")
    assert out.headers["Content-Disposition"] == 'attachment; filename="lab.yaml"'
    assert admin.send(f"{LAB}inventory/", out.body, "application/yaml").body["events"] == 0


def test_an_upload_may_make_the_cluster(admin: Api) -> None:
    assert admin.send("clusters/new/inventory/", NEW_RACK, "application/yaml").status == 404
    assert admin.send("clusters/new/inventory/?create_cluster=true", NEW_RACK, "application/yaml").body["nodes"] == 3
    assert admin.get("clusters/new/").body["nodes"] == 3


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\x00\x01", b"kind: Deployment", b"[1,2", b"racks: 5", b"racks:\n  - name: r1\n    nodes: 'bad name'"]
)
def test_a_bad_file_changes_nothing_and_says_what_is_wrong(admin: Api, cluster: str, content: bytes) -> None:
    before = admin.get(LAB).body["seq"]
    refused = admin.send(f"{LAB}inventory/", content, "application/yaml")
    assert refused.status == 422
    assert refused.body["errors"][0]["expected"]
    assert admin.get(LAB).body["seq"] == before


def test_a_file_that_is_too_large_is_refused(admin: Api, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "MOST_BYTES", 100)
    monkeypatch.setattr(inventory, "MOST_OVERHEAD", 500)
    for content in (b"#" * 101, b"#" * 700):
        assert admin.send(f"{LAB}inventory/", content, "application/yaml").status == 413
        form: Any = admin.client.post(f"{BASE}{LAB}inventory/", {"file": SimpleUploadedFile("fleet.yaml", content)})
        assert form.status_code == 413

"""Importing by hand: what is uploaded is looked at, then applied; nothing changes before, and an upload is its user's only."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from clusters.domain.health_events import NodeDraining
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from clusters.inventory.service import inventory_import
from frontend.accounts.roles import Role
from frontend.imports.models import Upload
from frontend.pages import importform, importview
from tests.domain.inventory.files import node_list, tray
from tests.domain.inventory.slurm_files import TWO_RACKS, racks_of, slurm_answer, slurm_node
from tests.integration.pages.test_pages import text
from tests.support.lab import NAME, report
from tests.support.people import browser_of, make_user

pytestmark = pytest.mark.django_db

RACK = b"gpus: 4\nracks: [{name: r1, nodes: 'n[1-4]'}]\n"
SLURM = slurm_answer([*racks_of(["a1", "a2", "a3", "b1", "b2"]), slurm_node("b3", "DOWN", reason="fan")])


def sent(content: bytes, name: str = "nodes.json") -> io.BytesIO:
    file = io.BytesIO(content)
    file.name = name
    return file


def upload(client: Client, content: bytes, cluster: str = "c1", **more: Any) -> Any:
    return client.post("/import/", {"cluster": cluster, "file": sent(content), **more})


def preview_of(client: Client, content: bytes, cluster: str = "c1", **more: Any) -> str:
    """The address of the preview."""
    answer = upload(client, content, cluster, **more)
    assert answer.status_code == 302, answer.content.decode()
    path: str = answer.headers["Location"]
    return path


def apply(client: Client, path: str, page: str) -> Any:
    fingerprint = page.split('name="fingerprint" value="')[1].split('"')[0]
    return client.post(path, {"fingerprint": fingerprint})


def test_a_new_cluster_is_looked_at_and_then_made(admin: Client) -> None:
    path = preview_of(admin, SLURM, topology=sent(TWO_RACKS.encode(), "topology.conf"))
    page = text(admin, path)
    assert "New cluster c1" in page
    assert "nodes.json with topology.conf" in page
    assert page.count('class="delta-rack"') == 2
    assert page.count('<i class="delta-new" title=') == 6
    assert 'title="b3: new, failed"' in page
    assert "DOWN: fan" in page
    assert default_log().clusters() == ()
    answer = apply(admin, path, page)
    assert answer.headers["Location"] == "/clusters/c1/"
    assert {node.rack for node in live("c1").catch_up().nodes.values()} == {"r1", "r2"}
    assert not Upload.objects.exists()
    gone: Any = admin.get(path)
    assert gone.status_code == 404
    correlations = {event.correlation for event in default_log().read("c1") if event.source == "import"}
    assert len(correlations) == 1
    assert "nodes.json with topology.conf by ada" in correlations.pop()


def test_a_preview_of_changes_draws_what_changes_and_counts_it(admin: Client) -> None:
    apply(admin, path := preview_of(admin, RACK), text(admin, path))
    changed = b"gpus: 4\nracks: [{name: r1, nodes: ['n[1-3]', n5]}]\nstates: [{nodes: n2, state: draining, reason: fan}]\n"
    page = text(admin, preview_of(admin, changed))
    assert "Changes to c1" in page
    assert "Apply 3 changes" in page
    for told in ("n1: as it is, healthy", "n2: in another condition, draining", "n4: no longer there, absent", "n5: new, healthy"):
        assert f'title="{told}"' in page
    assert 'aria-label="r1: 1 no longer there, 1 new, 1 in another condition, 2 as it is"' in page
    for kind in ("NodeRegistered", "NodeDraining", "NodeAbsent"):
        assert f'<th scope="row">{kind}</th><td class="num">1</td>' in page
    assert default_log().head("c1") == 3 + 5


def test_the_same_again_has_nothing_to_apply(admin: Client) -> None:
    apply(admin, path := preview_of(admin, RACK), text(admin, path))
    page = text(admin, preview_of(admin, RACK))
    assert "there is nothing to apply" in page
    assert "Apply" not in page


def test_a_bad_file_is_told_item_by_item_and_not_kept(admin: Client) -> None:
    answer = upload(admin, node_list([tray("n1", 1), {"kind": "Node"}, 7]))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "nodes.json cannot be imported, and nothing was changed" in page
    assert "document 1, item 2" in page
    assert "document 1, item 3" in page
    assert 'value="c1"' in page
    assert not Upload.objects.exists()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"cluster": ""}, "This field is required"),
        ({"cluster": "a b"}, "Give 1 to 63 letters"),
        ({"cluster": "-c"}, "Give 1 to 63 letters"),
        ({"file": sent(b"")}, "The file is empty; give an inventory."),
        ({"file": ""}, "Give a file."),
        ({"topology": sent(b"", "topology.conf")}, "The file is empty; leave it out"),
        ({"rack_label": "not a label"}, "Give the key of a Kubernetes label"),
        ({"topology": sent(TWO_RACKS.encode(), "topology.conf")}, "a topology file goes with Slurm nodes, and these are none"),
    ],
)
def test_wrong_fields_are_told(admin: Client, fields: dict[str, Any], told: str) -> None:
    content = node_list([tray("n1", 1)])
    answer: Any = admin.post("/import/", {"cluster": "c1", "file": sent(content), **fields})
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not Upload.objects.exists()


def test_both_files_together_have_a_limit(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importform, "MOST_BYTES", len(SLURM) + 10)
    preview_of(admin, SLURM)
    answer = upload(admin, SLURM, topology=sent(TWO_RACKS.encode(), "topology.conf"))
    assert answer.status_code == 422
    assert "import it with the command import_cluster" in answer.content.decode()


def test_what_was_not_looked_at_is_not_applied(admin: Client, cluster: str) -> None:
    content = b"gpus: 4\nracks: [{name: r1, nodes: 'r1-n[01-18]'}]\nstates: [{nodes: r1-n01, state: draining}]\n"
    path = preview_of(admin, content, NAME)
    page = text(admin, path)
    report(NodeDraining(node="r1-n02", reason="by hand"))
    assert apply(admin, path, page).status_code == 302  # the operator's drain changes nothing of what the import does
    path = preview_of(admin, content.replace(b"draining", b"suspect"), NAME)
    page = text(admin, path)
    inner = preview_of(admin, content.replace(b"r1-n01, state", b"r1-n03, state"), NAME)
    assert apply(admin, path, page).status_code == 404  # the later upload took its place
    page = text(admin, inner)
    head = default_log().head(NAME)
    live(NAME).catch_up()
    inventory_import(cluster=NAME, content=content.replace(b"draining", b"degraded"), filename="other", by="bob")
    moved = default_log().head(NAME)
    assert moved > head
    answer = apply(admin, inner, page)
    assert answer.status_code == 409
    assert "The cluster has changed since this was shown" in answer.content.decode()
    assert default_log().head(NAME) == moved
    assert apply(admin, inner, answer.content.decode()).status_code == 302
    assert default_log().head(NAME) > moved


def test_an_upload_is_its_users_only_and_ends(admin: Client) -> None:
    path = preview_of(admin, RACK)
    other = browser_of(make_user("eve", Role.ADMIN))
    for answer in (other.get(path), other.post(path, {"drop": "1"}), other.post(path, {"fingerprint": ""})):
        assert answer.status_code == 404
    assert text(admin, path)
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    ended: Any = admin.get(path)
    assert ended.status_code == 404
    preview_of(other, RACK, "c2")
    assert [kept.cluster for kept in Upload.objects.all()] == ["c2"]  # what has ended goes with the next upload


def test_a_new_upload_takes_the_place_of_the_earlier_one_and_can_be_discarded(admin: Client) -> None:
    first, second = preview_of(admin, RACK), preview_of(admin, RACK, "c2")
    missing: Any = admin.get(first)
    assert missing.status_code == 404
    assert admin.post(second, {"drop": "1"}).headers["Location"] == "/import/"
    assert not Upload.objects.exists()
    assert default_log().clusters() == ()


def test_an_upload_goes_with_its_user(admin: Client) -> None:
    preview_of(admin, RACK)
    User.objects.get(username="ada").delete()
    assert not Upload.objects.exists()


def test_what_is_kept_is_packed(admin: Client) -> None:
    preview_of(admin, SLURM, topology=sent(TWO_RACKS.encode(), "topology.conf"))
    kept = Upload.objects.get()
    assert len(kept.content) < len(SLURM) / 3
    assert kept.topology is not None


def test_only_who_may_import_is_led_there(user: Client, admin: Client, cluster: str) -> None:
    refused: Any = user.get("/import/")
    assert refused.status_code == 403
    assert "/import/" not in text(user, "/clusters/lab/")
    assert 'href="/import/?cluster=lab"' in text(admin, "/clusters/lab/")
    page = text(admin, "/import/?cluster=lab")
    assert 'value="lab"' in page
    assert 'data-ws-url="/ws/clusters/lab/"' in page
    assert "data-ws-url" not in text(admin, "/import/?cluster=nobody")


def test_a_large_import_is_drawn_and_listed_in_part(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_RACKS", "MOST_CHANGES", "MOST_PROBLEMS"):
        monkeypatch.setattr(importview, limit, 2)
    content = b"gpus: 4\nracks: [" + b", ".join(f"{{name: r{rack}, nodes: 'r{rack}-n[1-3]'}}".encode() for rack in range(5)) + b"]\n"
    page = text(admin, preview_of(admin, content))
    assert page.count('class="delta-rack"') == 2
    assert "and 3 more" in page
    assert "and 18 more" in page
    assert "New <b>15</b>" in page


def test_names_of_files_are_shown_as_text(admin: Client) -> None:
    answer: Any = admin.post("/import/", {"cluster": "c1", "file": sent(RACK, "<b>x</b>.yaml")})
    page = text(admin, answer.headers["Location"])
    assert "<b>x" not in page

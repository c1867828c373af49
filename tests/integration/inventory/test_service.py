"""Imports into the log: all or nothing, once, and never on a state that has moved on."""

from __future__ import annotations

from contextlib import suppress

import pytest

from clusters.domain.errors import ClusterExists, InvalidRequest, SourceConflict, UnknownCluster
from clusters.domain.events import NewEvent, Payload
from clusters.domain.health import IMPORT_SOURCE
from clusters.domain.health_events import NodeQuarantined
from clusters.domain.invariants import check
from clusters.domain.inventory_events import ClockSet, ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.job_events import JobFinished, WorkStopped
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import append_facts, create_cluster, default_log
from clusters.eventlog.verify import verify
from clusters.inventory import service
from clusters.inventory.delta import delta
from clusters.inventory.model import BadInventory, Inventory, Known
from clusters.inventory.service import ImportReport, inventory_export, inventory_import
from scheduling.domain.decide import decide
from scheduling.services import job_submit, run_pass
from tests.domain.inventory.files import node_list, tray
from tests.support.shared import shared_path
from tests.support.world import ask

pytestmark = pytest.mark.django_db

RACK = b"gpus: 4\nracks: [{name: r1, nodes: 'n[1-4]'}]\n"
QUARANTINED = RACK + b"states: [{nodes: n1, state: quarantined, reason: Xid 95}]\n"


def take(content: bytes, cluster: str = "c1", *, create: bool = True, dry_run: bool = False) -> ImportReport:
    return inventory_import(cluster=cluster, content=content, filename="file.yaml", by="ada", create=create, dry_run=dry_run)


def quarantine(cluster: str, source_id: str) -> None:
    payload = NodeQuarantined(node="n2", owner="bob", reason="noise", exit_rule="bob")
    append_facts(cluster, [NewEvent(payload, 1, "operator:bob", source_id)])


def test_the_reference_racks_come_in_once() -> None:
    content = shared_path("data", "formats", "k8s-nodes", "gb200_nodes_2racks_constructed.json").read_bytes()
    report = take(content)
    assert (report.racks, report.nodes, report.problems) == (2, 36, ())
    assert report.states == {"unknown": 1, "quarantined": 1, "draining": 1, "healthy": 33}
    head = default_log().head("c1")
    assert head == report.events + 3  # ClusterCreated, ClockSet, PolicyActivated
    again = take(content)
    assert (again.events, again.states) == (0, report.states)
    assert default_log().head("c1") == head


def test_a_new_cluster_is_made_with_its_inventory_in_one_append() -> None:
    take(RACK)
    events = list(default_log().read("c1"))
    created, clock, _, rack, first = (event.payload for event in events[:5])
    assert created == ClusterCreated(name="c1", connector="none")
    assert isinstance(clock, ClockSet)
    assert isinstance(rack, RackRegistered)
    assert isinstance(first, NodeRegistered)
    assert {event.source for event in events[3:]} == {IMPORT_SOURCE}
    assert all("file.yaml by ada" in event.correlation for event in events[3:])
    assert {event.occurred_at for event in events} == {clock.cluster_time}


def test_a_bad_file_changes_nothing_and_makes_no_cluster() -> None:
    with pytest.raises(BadInventory) as caught:
        take(b"kind: Deployment\napiVersion: apps/v1\n")
    assert "Deployment" in str(caught.value)
    with pytest.raises(UnknownCluster):
        default_log().head("c1")
    take(RACK)
    head = default_log().head("c1")
    with pytest.raises(BadInventory) as caught:
        take(node_list([tray("n9", 1), {"kind": "Node"}, 7]))
    assert len(caught.value.problems) == 2
    assert default_log().head("c1") == head


def test_a_cluster_is_not_made_unless_that_is_asked_for() -> None:
    with pytest.raises(UnknownCluster):
        take(RACK, create=False)
    create_cluster("c1")
    assert take(RACK, create=False).events == 5


def test_a_name_that_no_cluster_can_have_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="cluster"):
        take(RACK, cluster="a/b")


def test_a_label_option_that_no_label_can_have_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="rack_label"):
        inventory_import(cluster="c1", content=node_list([tray("n1", 1)]), filename="x", by="ada", rack_label="not a label", create=True)


def test_a_dry_run_tells_what_would_be_and_changes_nothing() -> None:
    report = take(QUARANTINED, dry_run=True)
    assert (report.events, report.states) == (6, {"quarantined": 1, "healthy": 3})
    with pytest.raises(UnknownCluster):
        default_log().head("c1")
    take(RACK)
    head = default_log().head("c1")
    report = take(QUARANTINED, dry_run=True)
    assert (report.events, report.states) == (1, {"quarantined": 1, "healthy": 3})
    assert default_log().head("c1") == head
    with default_log().live("c1").reading() as state:
        assert state.nodes["n1"].placeable


def test_the_same_change_is_told_again_once_it_was_undone() -> None:
    for content, events in ((RACK, 5), (QUARANTINED, 1), (RACK, 1), (QUARANTINED, 1), (QUARANTINED, 0)):
        assert take(content).events == events


def test_an_import_counts_though_the_wall_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    hour = 3_600 * 1_000_000
    start = wall_now()
    for hours, content in ((0, RACK), (9, QUARANTINED), (8, RACK), (7, QUARANTINED), (6, RACK)):
        monkeypatch.setattr(service, "wall_now", lambda hours=hours: start + hours * hour)
        assert take(content).states == ({"quarantined": 1, "healthy": 3} if content is QUARANTINED else {"healthy": 4})


def test_an_import_that_was_overtaken_is_worked_out_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    take(RACK)
    knowns: list[Known] = []

    def overtaken(known: Known, inventory: Inventory) -> list[Payload]:
        facts = delta(known, inventory)
        if not knowns:
            quarantine("c1", "1")  # after the import has looked, before it appends
        knowns.append(known)
        return facts

    monkeypatch.setattr(service, "delta", overtaken)
    report = take(QUARANTINED)
    assert [bool(known.nodes["n2"].others) for known in knowns] == [False, True]
    assert (report.events, report.states) == (1, {"quarantined": 2, "healthy": 2})


def test_what_does_not_touch_the_inventory_does_not_overtake_it(monkeypatch: pytest.MonkeyPatch) -> None:
    take(RACK)
    calls: list[int] = []

    def busy(known: Known, inventory: Inventory) -> list[Payload]:
        calls.append(1)
        append_facts("c1", [NewEvent(ClockSet(wall=1, cluster_time=1, speed=1.0), 1, "system", f"clock/{len(calls)}")])
        return delta(known, inventory)

    monkeypatch.setattr(service, "delta", busy)
    assert take(QUARANTINED).events == 1
    assert len(calls) == 1


def test_an_import_gives_way_to_a_cluster_that_never_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    take(RACK)
    calls: list[int] = []

    def restless(known: Known, inventory: Inventory) -> list[Payload]:
        calls.append(1)
        quarantine("c1", str(len(calls)))
        return delta(known, inventory)

    monkeypatch.setattr(service, "delta", restless)
    with pytest.raises(SourceConflict, match="try again"):
        take(QUARANTINED)
    assert len(calls) == service.ATTEMPTS


def test_a_cluster_made_by_another_meanwhile_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def beaten(known: Known, inventory: Inventory) -> list[Payload]:
        with suppress(ClusterExists):
            create_cluster("c1")
        return delta(known, inventory)

    monkeypatch.setattr(service, "delta", beaten)
    assert take(RACK).events == 5
    assert default_log().head("c1") == 3 + 5


def test_an_export_reads_back_as_the_same_cluster() -> None:
    take(QUARANTINED)
    text = inventory_export("c1")
    assert take(text.encode()).events == 0
    assert take(text.encode(), cluster="c2").events == 6
    assert inventory_export("c2") == text
    with pytest.raises(UnknownCluster):
        inventory_export("c3")


def test_work_keeps_its_nodes_in_their_domain_and_the_import_says_so() -> None:
    take(RACK)
    job = job_submit(cluster="c1", request=ask(3, spares=0), by="ada")
    run_pass("c1")
    elsewhere = RACK.replace(b"nodes: 'n[1-4]'", b"nodes: 'n[1-4]', domain: r9")
    report = take(elsewhere)
    assert report.events == 4
    assert sorted((note.name, note.message) for note in report.problems) == [
        (f"n{node}", f"{job} runs on it, so it stays in domain r1 with 4 GPUs until that work has left") for node in (1, 2, 3)
    ]
    assert take(elsewhere).events == 0
    assert b"domain: r9" in inventory_export("c1").encode()
    with default_log().live("c1").reading() as state:
        assert {name: node.domain for name, node in state.nodes.items()} == {"n1": "r1", "n2": "r1", "n3": "r1", "n4": "r9"}
        assert check(state) == []
    stop = WorkStopped(job=str(job), generation=1, nodes=("n1", "n2", "n3"))
    append_facts("c1", [NewEvent(JobFinished(job=str(job), generation=1), 2, "engine", "end"), NewEvent(stop, 2, "engine", "stop")])
    with default_log().live("c1").reading() as state:
        assert {node.domain for node in state.nodes.values()} == {"r9"}
    assert take(elsewhere).problems == ()
    assert verify(default_log(), "c1", decide).differences == []

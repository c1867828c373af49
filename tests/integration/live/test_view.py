"""What browsers hold is what the server holds, whichever frames they took."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.books import CONDITION_CODE, USE_CODE, Condition, Use
from clusters.domain.books_of import domain_uses, read_books
from clusters.domain.events import Payload
from clusters.domain.health_events import NodeDegraded, NodeFailed, NodeQuarantined, RackStateChanged, RepairFinished, RepairStarted
from clusters.domain.inventory_events import NodeRegistered, NodeRemoved, RackRegistered
from clusters.domain.job_events import AfterStop, JobFinished, StopRequested, WorkStarted, WorkStopped
from clusters.domain.racks import RackState
from clusters.domain.state import ClusterState
from frontend.live import view
from frontend.live.frames import encode
from frontend.live.layout import lay_out
from frontend.live.view import FleetView
from scheduling.capacity import domain_levels
from scheduling.domain.capacity.model import fill, usable_now
from tests.integration.live.small import NAME, SmallCluster


class Browser:
    """Holds the fleet as the page's script does."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.nodes: list[str] = snapshot["nodes"]
        self.condition = bytearray(base64.b64decode(snapshot["condition"]))
        self.use = bytearray(base64.b64decode(snapshot["use"]))
        self.job = [snapshot["jobs"][job] if job >= 0 else "" for job in snapshot["node_job"]]
        self.seq: int = snapshot["seq"]
        self.counts = snapshot["counts"]
        self.rack_states: dict[str, str] = snapshot["rack_states"]

    def take(self, delta: dict[str, Any]) -> None:
        assert delta["from"] <= self.seq
        for place, condition, use, job in delta["nodes"]:
            self.condition[place], self.use[place], self.job[place] = condition, use, job
        self.seq, self.counts, self.rack_states = delta["to"], delta["counts"], delta["rack_states"]

    def look(self, node: str) -> tuple[int, int, str]:
        place = self.nodes.index(node)
        return self.condition[place], self.use[place], self.job[place]

    @property
    def all(self) -> tuple[Any, ...]:
        return bytes(self.condition), bytes(self.use), self.job, self.seq, self.counts, self.rack_states


def snapshot_of(state: ClusterState) -> dict[str, Any]:
    """Of a view made for the occasion."""
    decoded: dict[str, Any] = json.loads(encode(FleetView(state, "log").snapshot(state, None)))
    return decoded


class Watch:
    """A view of a cluster and a browser that takes its frames."""

    def __init__(self, cluster: SmallCluster) -> None:
        self.cluster = cluster
        self.view = FleetView(self.state, "log")
        self.browser = Browser(snapshot_of(self.state))

    @property
    def state(self) -> ClusterState:
        return self.cluster.log.live(NAME).catch_up()

    def follow(self) -> dict[str, Any]:
        """Hand what changed to the browser."""
        state = self.state
        changes = self.view.advance(state)
        assert changes is not None
        frame: dict[str, Any] = json.loads(encode(self.view.delta(state, changes, None)))
        self.browser.take(frame)
        return frame


def test_a_snapshot_draws_racks_in_natural_order_each_in_one_piece() -> None:
    cluster = SmallCluster(racks=11, size=2)
    state = Watch(cluster).state
    snapshot = snapshot_of(state)
    assert [rack["name"] for rack in snapshot["racks"]] == [f"r{number}" for number in range(1, 12)]
    assert snapshot["blocks"] == ["b1", "b2", "b3", "b4", "b5", "b6"]
    for rack in snapshot["racks"]:
        members = snapshot["nodes"][rack["first"] : rack["first"] + rack["count"]]
        assert members == [f"{rack['name']}-n1", f"{rack['name']}-n2"]
    assert snapshot["racks"][10]["block"] == 5


def test_a_domain_over_two_racks_is_drawn_rack_by_rack() -> None:
    cluster = SmallCluster(racks=0)
    for rack in ("r1", "r2", "r3", "r4"):
        cluster.register(rack, "b1", [f"n{number}{rack}" for number in (1, 2)], domain=f"pair{'ab'[rack in ('r2', 'r4')]}")
    state = Watch(cluster).state
    layout = lay_out(state)
    assert [layout.nodes[rack.first][2:] for rack in layout.racks] == ["r1", "r2", "r3", "r4"]
    assert [layout.domains[layout.node_domain[rack.first]] for rack in layout.racks] == ["paira", "pairb", "paira", "pairb"]
    assert sorted(layout.draw) == list(range(8))


def test_a_node_without_a_domain_is_drawn_and_named_unknown() -> None:
    cluster = SmallCluster(racks=1)
    cluster.add(NodeRegistered(node="r1-n9", rack="r1", domain=None, gpus=4, problem="no clique"))
    watch = Watch(cluster)
    snapshot = snapshot_of(watch.state)
    assert snapshot["node_domain"] == [0, 0, 0, 0, -1]
    assert watch.browser.look("r1-n9")[1] == USE_CODE[Use.OUT]


def test_a_rack_without_nodes_keeps_its_place() -> None:
    cluster = SmallCluster(racks=2)
    cluster.add(RackRegistered(rack="r1b", block="b1"))
    state = Watch(cluster).state
    assert [(rack["name"], rack["count"]) for rack in snapshot_of(state)["racks"]] == [("r1", 4), ("r1b", 0), ("r2", 4)]


def test_frames_name_the_racks_that_do_not_take_all_work() -> None:
    cluster = SmallCluster(racks=3)
    watch = Watch(cluster)
    assert watch.browser.rack_states == {}
    cluster.add(RackStateChanged(rack="r2", state=RackState.DRAINING, reason="new pump", by="op"))
    watch.follow()
    assert watch.browser.rack_states == {"r2": "draining"} == snapshot_of(watch.state)["rack_states"]
    cluster.add(RackStateChanged(rack="r2", state=RackState.OPEN, reason="done", by="op"))
    watch.follow()
    assert watch.browser.rack_states == {}


def test_frames_carry_what_the_capacity_chart_needs() -> None:
    """Levels of the domains; a table of the model turns them into usable nodes for any slice size."""
    cluster = SmallCluster(racks=3, size=4)
    cluster.add(NodeRegistered(node="r1-n9", rack="r1", domain=None, gpus=4, problem="no clique"))
    watch = Watch(cluster)
    cluster.add(NodeFailed(node="r1-n2", reason="dead"), NodeFailed(node="r2-n1", reason="dead"), NodeFailed(node="r2-n3", reason="dead"))
    frame = watch.follow()
    assert frame["capacity"] == {"nodes": 12, "unavailable": 3, "levels": [[4, 2, 1], [4, 3, 1], [4, 4, 1]]}
    for size in (1, 2, 3, 4):
        table = fill(4, (size,))
        shown = sum(table[available] * domains for _, available, domains in frame["capacity"]["levels"])
        assert shown == usable_now(domain_levels(watch.state), (size,))
    cluster.add(RepairFinished(node="r2-n1"))
    assert watch.follow()["capacity"]["levels"] == [[4, 3, 2], [4, 4, 1]]


def test_frames_carry_the_life_of_a_job() -> None:
    cluster = SmallCluster()
    watch = Watch(cluster)
    job = cluster.submit(2)
    frame = watch.follow()
    assert (frame["jobs"], frame["nodes"], frame["job_counts"]["submitted"]) == ([job], [], 1)

    cluster.place(job, "r2-n1", "r2-n2")
    frame = watch.follow()
    healthy, allocated = CONDITION_CODE[Condition.HEALTHY], USE_CODE[Use.ALLOCATED]
    assert watch.browser.look("r2-n2") == (healthy, allocated, job)
    assert frame["counts"]["use"]["allocated"] == 2
    assert frame["counts"]["use"]["spare"] == 2

    cluster.add(WorkStarted(job=job, generation=1, nodes=("r2-n1", "r2-n2")))
    assert watch.follow()["job_counts"]["running"] == 1
    cluster.decide(StopRequested(job=job, generation=1, nodes=("r2-n1", "r2-n2"), after=AfterStop.CANCELLED, reason=""))
    watch.follow()
    assert watch.browser.look("r2-n1")[1] == USE_CODE[Use.STOPPING]
    cluster.add(WorkStopped(job=job, generation=1, nodes=("r2-n1", "r2-n2")))
    watch.follow()
    assert watch.browser.look("r2-n1") == (healthy, USE_CODE[Use.IDLE], "")


def test_a_finished_job_is_counted_and_named_once_more() -> None:
    cluster = SmallCluster()
    watch = Watch(cluster)
    job = cluster.submit()
    cluster.place(job, "r1-n1")
    watch.follow()
    cluster.add(JobFinished(job=job, generation=1), WorkStopped(job=job, generation=1, nodes=("r1-n1",)))
    frame = watch.follow()
    assert (frame["jobs"], frame["job_counts"]["finished"], frame["job_counts"]["placed"]) == ([job], 1, 0)


def test_a_changed_inventory_has_another_epoch_and_the_same_one_has_not() -> None:
    cluster = SmallCluster()
    watch = Watch(cluster)
    epoch = watch.view.epoch
    cluster.add(NodeRegistered(node="r1-n1", rack="r1", domain="r1", gpus=4))
    cluster.add(NodeFailed(node="r3-n4", reason="fatal", fencing=True))
    changes = watch.view.advance(watch.state)
    assert changes is not None
    assert [watch.view.layout.nodes[place] for place in changes.nodes][-1] == "r3-n4"
    assert watch.view.epoch == epoch
    cluster.add(NodeRemoved(node="r2-n3", reason="returned"))
    assert watch.view.advance(watch.state) is None
    assert watch.view.epoch != epoch == FleetView(SmallCluster().log.live(NAME).catch_up(), "log").epoch


def test_another_log_of_the_same_inventory_has_another_epoch() -> None:
    state = Watch(SmallCluster()).state
    assert FleetView(state, "one").epoch != FleetView(state, "other").epoch


FACTS: dict[str, Callable[[str], Payload]] = {
    "fail": lambda node: NodeFailed(node=node, reason="fatal", fencing=node.endswith("2")),
    "repair": lambda node: RepairStarted(node=node),
    "mend": lambda node: RepairFinished(node=node),
    "weaken": lambda node: NodeDegraded(node=node, reason="slow"),
    "quarantine": lambda node: NodeQuarantined(node=node, owner="ada", reason="flapping", exit_rule="by hand"),
    "register": lambda node: NodeRegistered(node=node, rack=node.split("-")[0], domain=node.split("-")[0], gpus=4),
}
STEPS = st.lists(st.tuples(st.sampled_from((*FACTS, "place", "finish", "watch")), st.integers(0, 11)))


def take_step(watch: Watch, placed: dict[str, str], what: str, node: str) -> None:
    """One thing that may happen; `placed` is who holds which node."""
    cluster = watch.cluster
    if what in FACTS:
        cluster.add(FACTS[what](node))
        if not watch.state.nodes[node].job:
            placed.pop(node, None)
    elif what == "place" and watch.state.nodes[node].placeable and node not in placed:
        placed[node] = cluster.submit()
        cluster.place(placed[node], node)
    elif what == "finish" and node in placed:
        job = placed.pop(node)
        cluster.add(JobFinished(job=job, generation=1), WorkStopped(job=job, generation=1, nodes=(node,)))
    elif what == "watch":
        watch.follow()


@given(STEPS)
def test_whatever_happens_a_browser_ends_up_with_the_servers_state(steps: list[tuple[str, int]]) -> None:
    watch = Watch(SmallCluster())
    placed: dict[str, str] = {}
    for what, number in steps:
        take_step(watch, placed, what, f"r{number // 4 + 1}-n{number % 4 + 1}")
    watch.follow()
    assert watch.browser.all == Browser(snapshot_of(watch.state)).all
    books = read_books(watch.state)
    assert watch.browser.counts["condition"] == {condition.value: count for condition, count in books.condition.items()}
    assert watch.browser.counts["use"] == {use.value: count for use, count in books.use.items()}


def test_following_reads_only_the_domains_that_an_event_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(SmallCluster(racks=8))
    read: list[int] = []

    def spy(state: ClusterState, domain: int) -> list[Use]:
        read.append(domain)
        return domain_uses(state, domain)

    monkeypatch.setattr(view, "domain_uses", spy)
    watch.cluster.add(NodeFailed(node="r5-n2", reason="fatal"))
    watch.follow()
    assert read == [4]

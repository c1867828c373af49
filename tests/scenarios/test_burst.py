"""S9: a quiet cluster, then a storm of signals, some twice and some late. `make bench` plays it for its full minute and measures."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest

from clusters.domain.dump import dump_state
from clusters.domain.events import NewEvent, Payload
from clusters.domain.evolve import evolve
from clusters.domain.health import Flag
from clusters.domain.ids import MILLISECOND
from clusters.domain.invariants import check
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.domain.policy import Policy
from clusters.domain.signals import MAX_HEARD, standing
from clusters.domain.state import ClusterState
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import append_facts, create_cluster, default_log
from clusters.signals.intake import Received, signals_receive
from clusters.signals.model import Signal
from frontend.live.feed import Feed
from frontend.live.view import FleetView
from scheduling.services import policy_change, run_pass
from tests.support.storm import NODES, RACKS, Said, batches, folded, late_and_twice, storm

pytestmark = pytest.mark.django_db

SIGNALS = 3_000
SOURCE = "signal:burst"
USUAL = Policy()


def make(name: str, policy: Policy = USUAL) -> str:
    """27 nodes in three racks."""
    create_cluster(name, by="test")
    if policy != USUAL:
        policy_change(cluster=name, policy=policy, expected=1, by="test", reason="test")
    racks: list[Payload] = [RackRegistered(rack=rack, block="b1", switch_trays=9) for rack in RACKS]
    nodes: list[Payload] = [NodeRegistered(node=node, rack=node[:2], domain=node[:2], gpus=4) for node in NODES]
    append_facts(name, [NewEvent(payload, 0, "import", f"i{place}") for place, payload in enumerate([*racks, *nodes])])
    return name


def deliver(cluster: str, told: Sequence[Signal], draw: random.Random) -> Received:
    """All of it, with a pass after each batch."""
    total = Received()
    for batch in batches(told, draw):
        done = signals_receive(cluster=cluster, source=SOURCE, signals=batch)
        run_pass(cluster)
        total = Received(
            received=total.received + done.received,
            new=total.new + done.new,
            repeated=total.repeated + done.repeated,
            unchanged=total.unchanged + done.unchanged,
        )
    return total


def said(state: ClusterState) -> dict[str, Said]:
    """What stands against each node."""
    return {name: {(heard.check, heard.code) for heard in standing(node.signals)} for name, node in state.nodes.items()}


def flagged(state: ClusterState) -> dict[str, set[Flag]]:
    """What is said of each node; but for flapping, which depends on when verdicts were given."""
    return {
        name: {flag for (flag, _), mark in node.marks.items() if mark.on and flag is not Flag.QUARANTINED}
        for name, node in state.nodes.items()
    }


@pytest.mark.parametrize(
    ("policy", "nodes"),
    [(USUAL, NODES), (Policy(recovery_quiet_s=0, breaker_percent=100), NODES[::9])],
    ids=["usual", "verdicts come and go while words are late"],
)
def test_s9_a_storm_loses_nothing_and_ends_as_if_it_had_come_in_order(policy: Policy, nodes: Sequence[str]) -> None:
    draw = random.Random(9)
    told = storm(draw, SIGNALS, nodes, began=wall_now() - SIGNALS * MILLISECOND)
    sent = late_and_twice(told, draw)
    total = deliver(make("storm", policy), sent, draw)
    assert total.received == len(sent) > SIGNALS
    assert total.new + total.repeated + total.unchanged == len(sent)
    deliver(make("calm", policy), told, random.Random(1))
    with default_log().live("storm").reading() as state, default_log().live("calm").reading() as calm:
        assert said(state) == said(calm) == {name: folded(told).get(name, set()) for name in NODES}
        assert flagged(state) == flagged(calm)
        assert max(len(node.signals) for node in state.nodes.values()) <= MAX_HEARD  # memory stays bounded
        assert check(state) == []
        again = ClusterState()
        for event in default_log().read("storm", 0, 10**9):
            evolve(again, event)
        assert dump_state(again) == dump_state(state)


def test_s9_pages_that_followed_the_storm_show_what_a_new_page_shows() -> None:
    """Frame by frame, with no gap between two of them."""
    draw, cluster = random.Random(9), make("storm")
    feed = Feed(default_log(), cluster)
    feed.advance()
    with default_log().live(cluster).reading() as state:
        shown, reached = list(FleetView(state, "").condition), state.seq
    frames = 0
    for batch in batches(late_and_twice(storm(draw, SIGNALS), draw), draw):
        signals_receive(cluster=cluster, source=SOURCE, signals=batch)
        run_pass(cluster)
        step = feed.advance()
        assert step is not None
        assert (step.resync, step.since) == (False, reached)
        frame, reached = json.loads(step.text), step.to
        frames += 1
        for place, condition, _, _ in frame["nodes"]:
            shown[place] = condition
    assert frames > 1
    with default_log().live(cluster).reading() as state:
        assert reached == state.seq
        assert shown == list(FleetView(state, "").condition)

"""S9: a quiet cluster, then a storm of signals, some twice and some late. `make bench` plays it for its full minute and measures."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from clusters.domain.dump import dump_state
from clusters.domain.events import NewEvent, Payload
from clusters.domain.evolve import evolve
from clusters.domain.ids import MILLISECOND
from clusters.domain.invariants import check
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.domain.signals import MAX_HEARD, SignalKind, standing
from clusters.domain.state import ClusterState
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import append_facts, create_cluster, default_log
from clusters.signals.intake import MAX_BATCH, Received, signals_receive
from clusters.signals.model import Signal
from scheduling.services import run_pass

pytestmark = pytest.mark.django_db

NODES = [f"r{rack}-n{number}" for rack in (1, 2, 3) for number in range(1, 10)]
SIGNALS = 3_000
SOURCE = "signal:burst"


def make(name: str) -> str:
    """27 nodes in three racks."""
    create_cluster(name, by="test")
    racks: list[Payload] = [RackRegistered(rack=f"r{rack}", block="b1", switch_trays=9) for rack in (1, 2, 3)]
    nodes: list[Payload] = [NodeRegistered(node=node, rack=node[:2], domain=node[:2], gpus=4) for node in NODES]
    append_facts(name, [NewEvent(payload, 0, "import", f"i{place}") for place, payload in enumerate([*racks, *nodes])])
    return name


def storm(draw: random.Random) -> list[Signal]:
    """Checks of nodes that fail and pass, each with the source's own counter."""
    began = wall_now() - SIGNALS * MILLISECOND
    told = []
    for seq in range(SIGNALS):
        kind = draw.choice((SignalKind.SOFT, SignalKind.SOFT, SignalKind.DEGRADED, SignalKind.RECOVERED))
        check_name = draw.choice(("ecc", "power", "thermal"))
        code = "" if kind is SignalKind.RECOVERED else f"{check_name}:{kind}"
        told.append(
            Signal(
                node=draw.choice(NODES),
                code=code,
                kind=kind,
                check=check_name,
                lasting=True,
                seq=seq,
                occurred_at=began + seq * MILLISECOND,
            )
        )
    return told


def late_and_twice(told: list[Signal], draw: random.Random) -> list[Signal]:
    """5 % come up to 200 places late, and one in ten comes a second time."""
    order = [(place + (draw.randrange(1, 200) if draw.random() < 0.05 else 0), signal) for place, signal in enumerate(told)]
    order += [(place + draw.randrange(1, 50), signal) for place, signal in enumerate(told) if draw.random() < 0.1]
    return [signal for _, signal in sorted(order, key=lambda item: item[0])]


def batches(told: list[Signal], draw: random.Random) -> Iterator[list[Signal]]:
    place = 0
    while place < len(told):
        size = draw.randrange(1, MAX_BATCH + 1)
        yield told[place : place + size]
        place += size


def deliver(cluster: str, told: list[Signal], draw: random.Random) -> Received:
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


def said(state: ClusterState) -> dict[str, set[tuple[str, str]]]:
    """What stands against each node."""
    return {name: {(heard.check, heard.code) for heard in standing(node.signals)} for name, node in state.nodes.items()}


def test_s9_a_storm_loses_nothing_and_ends_as_if_it_had_come_in_order() -> None:
    draw = random.Random(9)
    told = storm(draw)
    sent = late_and_twice(told, draw)
    total = deliver(make("storm"), sent, draw)
    assert total.received == len(sent) > SIGNALS
    assert total.new + total.repeated + total.unchanged == len(sent)
    deliver(make("calm"), told, random.Random(1))
    with default_log().live("storm").reading() as state, default_log().live("calm").reading() as calm:
        assert said(state) == said(calm)
        assert {name: node.condition for name, node in state.nodes.items()} == {name: node.condition for name, node in calm.nodes.items()}
        assert max(len(node.signals) for node in state.nodes.values()) <= MAX_HEARD  # memory stays bounded
        assert check(state) == []
        again = ClusterState()
        for event in default_log().read("storm", 0, 10**9):
            evolve(again, event)
        assert dump_state(again) == dump_state(state)

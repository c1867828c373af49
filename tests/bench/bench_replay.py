"""Replaying a log of the demo's mix, against reading the same rows and decoding their payloads without making anything of them.

The log is played by the real engine on the demo's cluster, in memory, and then written to the database. Seconds are those of a million
events at the rate measured.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec
import pytest
from django.db import connections

from clusters.domain.dump import dump_state
from clusters.domain.events import PAYLOADS, Event
from clusters.domain.evolve import evolve
from clusters.domain.ids import DAY
from clusters.domain.state import ClusterState
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.sql import READ
from clusters.eventlog.verify import replay, verify
from scheduling.domain.decide import decide
from scheduling.simulator.demo import DemoUsers
from scheduling.simulator.opening import RACKS, demo_options
from tests.bench.harness import Row, alternating_rates, table
from tests.domain.fleet.stage import NAME, START, Stage

pytestmark = pytest.mark.bench

PLAYED = 20 * DAY
SECONDS = 20.0
MILLION = 1_000_000


@pytest.fixture(scope="module")
def played() -> Stage:
    """The demo's first weeks."""
    stage = Stage(RACKS, demo_options(), generator=DemoUsers(demo_options(), START))
    stage.driver.play(START + PLAYED)
    return stage


def _copy(played: Stage, log: DatabaseLog) -> None:
    """The same events and decisions in the database."""
    events = list(played.log.read(NAME))
    decisions = list(played.log.decisions(NAME))
    ends = [*(first - 1 for first, _, _ in decisions[1:]), len(events)]
    with log._store.creating(NAME, "epoch") as writer:
        writer.add(events[: decisions[0][0] - 1])
        for (first, count, record), end in zip(decisions, ends, strict=True):
            last = first - 1 + count
            writer.add(events[first - 1 : last], record)
            if last < end:
                writer.add(events[last:end])


def _bare_read(log: DatabaseLog) -> Callable[[], None]:
    decoders = {kind: msgspec.json.Decoder(cls).decode for kind, cls in PAYLOADS.items()}
    cluster_id, position = log.locate(NAME)

    def work() -> None:
        with connections[log.alias].cursor() as cursor:
            cursor.execute(READ, (cluster_id, 0, position.head, position.head))
            for row in cursor.fetchall():
                decoders[row[1]](row[6])

    return work


def _fold(events: Iterable[Event]) -> ClusterState:
    state = ClusterState()
    for event in events:
        evolve(state, event)
    return state


def _row(name: str, ours: float, floor: float, what: str) -> Row:
    return Row(name, f"{MILLION / ours:.2f} s", f"{MILLION / floor:.2f} s {what}", f"{ours / floor:.2f}x")


def test_replay(log: DatabaseLog, played: Stage) -> None:
    _copy(played, log)
    events: Sequence[Event] = list(log.read(NAME))
    state = _fold(events)
    assert dump_state(state) == dump_state(played.log.live(NAME).catch_up())
    log.save_snapshot(NAME, state)
    count = len(events)
    gc.collect()
    gc.freeze()  # the played cluster would be searched for garbage again and again; a process that replays has no such thing
    whole, bare, read, fold = alternating_rates(
        count, SECONDS, lambda: replay(log, NAME), _bare_read(log), lambda: deque(log.read(NAME), maxlen=0), lambda: _fold(events)
    )
    (start,) = alternating_rates(1, 1.0, lambda: DatabaseLog(log.alias).live(NAME).catch_up())
    proof = verify(log, NAME, decide)
    gc.unfreeze()
    rows = [
        _row("replay of 1 M events: read, decode, fold", whole, bare, "rows and payloads"),
        _row("  of which read and decode", read, bare, "rows and payloads"),
        _row("  of which fold", fold, bare, "rows and payloads"),
        _row("replay --verify of 1 M events: every decision made again", proof.events_per_second, whole, "replay"),
        Row(
            "start from a snapshot at the head",
            f"{1_000 / start:.0f} ms",
            f"{1_000 * count / whole:.0f} ms replay",
            f"{start * count / whole:.0f}x",
        ),
    ]
    table(f"replay, {connections[log.alias].vendor}: {count:,} events of the demo's first {PLAYED // DAY} days", rows)

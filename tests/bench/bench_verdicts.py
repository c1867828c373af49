"""From a signal in the log to the swap in the log, one at a time and 750 at once, and a burst of signals; on durable logs.

A verdict on a node's own fault is due at once. Faults that can share a cause wait for the incident window of the policy (1 s) before that,
which is stated apart: it is waiting, not work. NVSentinel's published time from an event to a cordon is 0.37 s at the median and 0.50 s at
p99, and 750 nodes took it 304 s; it goes through an API server, so the two are not the same measure.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from statistics import median

import pytest
from django.db import connections

from clusters.domain.commands import RunPass, SubmitJobs
from clusters.domain.events import NewEvent, Payload
from clusters.domain.ids import SECOND, Instant
from clusters.domain.job_events import NodeSwapped
from clusters.domain.state import ClusterState
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from scheduling.domain.decide import decide
from tests.bench.harness import Row, table
from tests.contract.eventlog.toy import opening
from tests.support.signals import off_bus, soft, well
from tests.support.world import ask, inventory, racks

pytestmark = pytest.mark.bench

START: Instant = 1_800_000_000 * SECOND
SYNC_BYTES = 8_192
SINGLES = 200
AT_ONCE = 750
CORDON_P50, CORDON_P99, CORDON_750 = 0.37, 0.50, 304.0
BURST_NODES, BURST_SECONDS, BURST_RATE = 27, 60, 2_000


class Fleet:
    """A cluster whose racks each run one slice of 16."""

    def __init__(self, log: DatabaseLog, name: str, count: int, nodes: int = 18) -> None:
        self.log = log
        self.name = name
        self.now = START
        self._facts = 0
        log.create(name, opening(name))
        self.tell(*inventory(racks(count, nodes=nodes)), source="import")
        if nodes >= 16:
            self.command(SubmitJobs(requests=tuple(ask(16) for _ in range(count)), by="bench"))
            self.settle()

    @property
    def state(self) -> ClusterState:
        return self.log.live(self.name).catch_up()

    def tell(self, *payloads: Payload, source: str = "signal:agent") -> None:
        facts = []
        for payload in payloads:
            self._facts += 1
            facts.append(NewEvent(payload, self.now, source, f"f{self._facts}"))
        self.log.append_facts(self.name, facts)

    def command(self, command: SubmitJobs | RunPass) -> Committed:
        outcome = self.log.commit(self.name, Request(command=command, source="scheduler", request_id=None, now=self.now), decide)
        assert isinstance(outcome, Committed)
        return outcome

    def settle(self) -> int:
        """Passes until nothing is left to do; how many nodes were swapped."""
        swapped, more = 0, True
        while more:
            outcome = self.command(RunPass())
            swapped += sum(isinstance(event.payload, NodeSwapped) for event in outcome.events)
            more = outcome.more
        return swapped

    def victims(self, count: int, per_rack: int = 1) -> list[str]:
        """Nodes with work, so many of each rack."""
        found = [name for job in self.state.jobs.values() for name in list(job.held_nodes)[:per_rack]]
        return random.Random(1).sample(found, count)


def _sync(directory: Path) -> float:
    """Seconds of one durable write."""
    descriptor = os.open(directory / "floor", os.O_CREAT | os.O_WRONLY)
    times = []
    for _ in range(100):
        began = time.perf_counter()
        os.write(descriptor, bytes(SYNC_BYTES))
        os.fdatasync(descriptor)
        times.append(time.perf_counter() - began)
    os.close(descriptor)
    return median(times)


def test_verdict_to_swap(log: DatabaseLog, tmp_path: Path) -> None:
    fleet = Fleet(log, "singles", SINGLES)
    sync = _sync(tmp_path)
    times = []
    for node in fleet.victims(SINGLES):
        fleet.now += SECOND
        fleet.tell(off_bus(node))
        began = time.perf_counter()
        assert fleet.settle() == 1
        times.append(time.perf_counter() - began)
    times.sort()
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    many = Fleet(log, "many", 450)
    struck = many.victims(AT_ONCE, per_rack=2)
    many.now += SECOND
    many.tell(*map(off_bus, struck))
    began = time.perf_counter()
    assert many.settle() == AT_ONCE
    at_once = time.perf_counter() - began
    title = f"verdict due to swap committed, {connections[log.alias].vendor}, {SINGLES} racks (goals: p99 < 100 ms, 750 at once < 5 s)"
    rows = [
        Row("one node: p50", f"{p50 * 1e3:.1f} ms", f"{sync * 1e3:.2f} ms fdatasync", f"{p50 / sync:.0f}x"),
        Row("one node: p99", f"{p99 * 1e3:.1f} ms", f"{CORDON_P99 * 1e3:.0f} ms cordon of NVSentinel", f"{CORDON_P99 / p99:.0f}x less"),
        Row(
            f"{AT_ONCE} nodes of 450 racks at once", f"{at_once:.2f} s", f"{CORDON_750:.0f} s cordons", f"{CORDON_750 / at_once:.0f}x less"
        ),
        Row("the incident window, for faults that can share a cause", "1 s more", "", ""),
    ]
    table(title, rows)


def test_a_burst_of_signals(log: DatabaseLog) -> None:
    """27 nodes, 2,000 signals a second for 60 s, in batches of up to 1,000: how much of that time the intake and the passes take."""
    fleet = Fleet(log, "burst", 3, nodes=9)
    draw = random.Random(9)
    nodes = sorted(fleet.state.nodes)
    spent = worst = 0.0
    count = 0
    for second in range(BURST_SECONDS):
        for _ in range(BURST_RATE // 1_000):
            fleet.now = START + second * SECOND
            made = (soft(draw.choice(nodes), draw.randrange(8)) for _ in range(1_000))
            batch = [well(signal) if draw.random() < 0.3 else signal for signal in made]
            began = time.perf_counter()
            fleet.tell(*batch)
            fleet.settle()
            took = time.perf_counter() - began
            spent, worst, count = spent + took, max(worst, took), count + len(batch)
    rows = [
        Row(f"{count:,} signals in and judged", f"{count / spent:,.0f}/s", f"{BURST_RATE:,}/s sent", f"{count / spent / BURST_RATE:.1f}x"),
        Row("the slowest batch of 1,000", f"{worst * 1e3:.0f} ms", "500 ms between batches", f"{0.5 / worst:.1f}x"),
    ]
    table(f"a burst of signals, all of them logged, {connections[log.alias].vendor}", rows)

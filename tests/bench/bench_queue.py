"""The queue: 15,000 workloads from submission to end, and how one decision grows with racks, with the queue and with the job.

Kueue publishes 401 s for 15,000 workloads on 10 racks of 64 nodes with topology-aware scheduling. That includes an API server and the paced
run times of its workloads. Here cluster time jumps from one thing that is due to the next, so only the work of the scheduler and of its log
takes time: the two are not the same measure, and the paced time is shown beside ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from clusters.domain.commands import NodeVerb, RunPass
from clusters.domain.decision import Decision
from clusters.domain.ids import SECOND, job_id
from clusters.domain.job_events import JobBlocked, JobPlaced, JobSubmitted
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from clusters.domain.state import ClusterState
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.log import StoredLog
from clusters.eventlog.memory import MemoryLog
from scheduling.domain.decide import decide
from tests.bench.bench_decide import Buckets
from tests.bench.harness import Row, alternating_rates, table
from tests.bench.workloads import POLICY, START, TOTAL, Run
from tests.support.world import World, ask, racks

pytestmark = pytest.mark.bench

KUEUE_S = 401.5
#: Of each line, in turns with its floor.
SECONDS = 1.5


def _played(log: StoredLog, where: str, policy: Policy = POLICY) -> list[Row]:
    run = Run(log, "kueue", policy)
    began, computed = time.perf_counter(), time.process_time()
    run.play()
    took, computed = time.perf_counter() - began, time.process_time() - computed
    assert run.ended == TOTAL
    paced = (run.now - START) / SECOND
    waited = sum(run.waited) / len(run.waited) / SECOND
    return [
        Row(f"{TOTAL:,} workloads, {where}", f"{took:.2f} s", f"{KUEUE_S} s Kueue, paced", f"{KUEUE_S / took:.0f}x"),
        Row("  of which this process computed", f"{computed:.2f} s", "", f"{KUEUE_S / computed:.0f}x"),
        Row("  nodes in use, from the first submission to the last end", f"{run.utilisation:.1%}", "62.4% Kueue, mean", ""),
        Row("  cluster time that it covers; mean wait for a place", f"{paced:.0f} s; {waited:.1f} s", "", ""),
    ]


def test_fifteen_thousand_workloads_in_memory() -> None:
    rows = _played(MemoryLog(lambda: START), "in memory")
    rows += _played(MemoryLog(lambda: START), "in memory, space kept for the first that wait", replace(POLICY, backfill=Backfill.EASY))
    table("15,000 workloads on 10 racks of 64 nodes, submit to finish (goal: 4 s)", rows)


def test_fifteen_thousand_workloads_with_a_durable_log(log: DatabaseLog) -> None:
    table("15,000 workloads on 10 racks of 64 nodes, submit to finish (goal: 15 s)", _played(log, "log durable"))


def waiting_world(count: int, queue: int, request: JobRequest, *, kinds: int = 8) -> ClusterState:
    """Racks that are full but for two with 17 nodes free, and a queue of jobs that want 18, of some kinds, and one that fits.

    Nothing is kept for those that wait, so that the pass looks at all of them and places the one.
    """
    world = World(racks(count), Policy(backfill=Backfill.OFF), checked=False)
    for _ in range(count - 2):
        world.add(JobSubmitted(request=ask(16), submitted_by="bench"))
    world.run_pass()
    for rack in (count - 1, count):
        world.mark(f"r{rack}-n1", NodeVerb.DRAIN)
    for number in range(queue):
        large = ask(18, slice_size=18, spares=number % kinds, team=f"team {number % kinds}")
        world.add(JobSubmitted(request=large, submitted_by="bench"))
        world.add(JobBlocked(job=job_id(world.state.seq), code="topology-blocked"))
    world.add(JobSubmitted(request=request, submitted_by="bench"))
    return world.state


def _decided(state: ClusterState) -> None:
    outcome = decide(state, RunPass(), 0)
    assert isinstance(outcome, Decision)
    assert [type(event) for event in outcome.events] == [JobPlaced]


def _row(name: str, state: ClusterState, ours: Callable[[], None]) -> Row:
    rate, floor = alternating_rates(1, SECONDS, ours, Buckets(state).decide)
    return Row(name, f"{1e6 / rate:,.0f} us", f"{1e6 / floor:,.1f} us kept counters", f"{floor / rate:.0f}x")


def test_how_a_decision_grows() -> None:
    one = ask(16)
    rows = []
    for count in (128, 1_000, 10_000):
        state = waiting_world(count, 10, one)
        rows.append(_row(f"a pass, {count:,} racks, 10 waiting", state, partial(_decided, state)))
    for queue in (10, 1_000, 100_000):
        state = waiting_world(128, queue, one)
        rows.append(_row(f"a pass, 128 racks, {queue:,} waiting", state, partial(_decided, state)))
    for nodes in (1, 16, 32):
        state = waiting_world(128, 10, ask(nodes))
        rows.append(_row(f"a pass, 128 racks, 10 waiting, a job of {nodes} nodes", state, partial(_decided, state)))
    table("a pass that places one job", rows)

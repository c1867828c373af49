"""The rows for the capacity page: they say what watching the whole log says, whatever happened to the process that wrote them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from clusters.domain.books_of import read_books
from clusters.domain.events import Payload
from clusters.domain.evolve import evolve
from clusters.domain.health_events import NodeFailed, RackStateChanged, RepairFinished
from clusters.domain.ids import HOUR, MINUTE, Instant
from clusters.domain.inventory_events import NodeChanged, NodeRemoved
from clusters.domain.job_events import JobFinished, WorkStarted
from clusters.domain.racks import RackState
from clusters.domain.state import ClusterState
from clusters.eventlog import books_samples as sampling
from clusters.eventlog.books_samples import TIERS
from clusters.eventlog.capacity_records import CapacityRecords, books_samples, domain_records, shape_records
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.models import BooksSample, DomainRecord
from clusters.eventlog.projector import Projector
from scheduling.domain.capacity.watch import watch_log
from tests.contract.eventlog.test_projections import busy
from tests.contract.eventlog.toy import CLUSTER, create, fact, stopped

pytestmark = pytest.mark.django_db

FINE, COARSE = TIERS


def story(steps: Sequence[tuple[Instant, str, bool]] = ()) -> DatabaseLog:
    """The toy cluster, jobs that end, and nodes that fail and are repaired; (time since the step before, node, fails)."""
    log = busy()
    at = 60 * 1_000_000
    for number, (after, node, fails) in enumerate(steps):
        at += after
        payload = NodeFailed(node=node, reason="dead") if fails else RepairFinished(node=node)
        log.append_facts(CLUSTER, [fact(payload, f"step{number}", at=at)])
    return log


def project(log: DatabaseLog, budgets: Sequence[int] = (), *, fresh: bool = False) -> None:
    """To the head; with budgets first, and by another process each time if `fresh`."""
    one = Projector(log, CapacityRecords())
    for budget in budgets:
        one = Projector(log, CapacityRecords()) if fresh else one
        one.project(CLUSTER, budget)
    while one.project(CLUSTER, 100):
        pass


def contents() -> dict[str, Any]:
    """All rows without the build they belong to."""
    found: dict[str, Any] = {"domains": {}, "shapes": {}, "books": {}}
    for row in domain_records(CLUSTER):
        found["domains"][row.domain] = (row.since, row.nodes, row.unavailable, row.spells, row.interruptions, row.whole_outages)
    found["shapes"] = {row.shape: row.node_time for row in shape_records(CLUSTER)}
    found["books"] = {(width, row.at): json.loads(row.books) for width in TIERS for row in books_samples(CLUSTER, width)}
    return found


NODES = ("r1-n1", "r1-n2", "r1-n3", "r1-n4")
STEPS: tuple[tuple[Instant, str, bool], ...] = (
    (5 * MINUTE, "r1-n1", True),
    (0, "r1-n2", True),
    (7 * MINUTE, "r1-n1", True),  # failed already: no second interruption
    (MINUTE, "r1-n1", False),
    (3 * HOUR, "r1-n3", True),
    (MINUTE, "r1-n4", True),
    (MINUTE, "r1-n1", True),  # now all four are away
    (9 * HOUR, "r1-n2", False),
    (20 * MINUTE, "r1-n1", False),
)


def test_domains_say_how_long_each_level_lasted_and_what_failed() -> None:
    project(story(STEPS))
    (row,) = domain_records(CLUSTER)
    spells = json.loads(row.spells)
    assert (row.nodes, row.unavailable) == (4, 2)
    assert spells["4/1"] == 3 * HOUR
    assert spells["4/4"] == 9 * HOUR
    assert (row.interruptions, row.whole_outages) == (5, 1)
    assert sum(spells.values()) + row.first == row.since


def test_nodes_that_one_event_takes_out_or_brings_back_are_counted_together() -> None:
    log = story()
    for number, (state, at) in enumerate(((RackState.OUT, HOUR), (RackState.OPEN, 3 * HOUR))):
        log.append_facts(CLUSTER, [fact(RackStateChanged(rack="r1", state=state), f"rack{number}", at=at)])
    project(log)
    (row,) = domain_records(CLUSTER)
    watch, _ = watch_log(log.read(CLUSTER))
    times = watch.history.observed(row.since).domains["d1"]
    assert json.loads(row.spells) == {f"{level.nodes}/{level.unavailable}": time for level, time in times.spells.items()}
    assert json.loads(row.spells)["4/4"] == 2 * HOUR
    assert (row.unavailable, row.whole_outages) == (0, 1)


def test_a_node_that_leaves_its_domain_with_its_work_is_counted_where_it_then_is() -> None:
    log = busy()
    (job, node), *_ = [(job.id, name) for job in log.live(CLUSTER).catch_up().jobs.values() for name in job.held_nodes]
    log.append_facts(CLUSTER, [fact(NodeChanged(node=node, rack="r1", domain="elsewhere", gpus=4), "moved", at=HOUR)])
    project(log)
    assert {row.domain: row.nodes for row in domain_records(CLUSTER)} == {"d1": 4}
    log.append_facts(CLUSTER, [fact(stopped(job, [node], "").payload, "left", at=2 * HOUR)])
    project(log)
    assert {row.domain: row.nodes for row in domain_records(CLUSTER)} == {"d1": 3, "elsewhere": 1}
    watch, state = watch_log(log.read(CLUSTER))
    assert state.nodes[node].domain == "elsewhere"
    seen = watch.history.observed(3 * HOUR).domains
    assert {domain: sorted(level.nodes for level in times.spells) for domain, times in seen.items()} == {"d1": [3, 4], "elsewhere": [1]}


def test_shapes_sum_the_node_time_of_what_ended() -> None:
    project(story())
    assert {row.shape: row.node_time for row in shape_records(CLUSTER)} == {"1:1::0": (9 - 5) * 1_000_000 + (11 - 5) * 1_000_000}


def test_each_sample_is_the_books_before_what_came_after_it_and_sums() -> None:
    log = story(STEPS)
    ends: list[Payload] = [WorkStarted(job="j000011", generation=1, nodes=("r1-n3",)), JobFinished(job="j000011", generation=1)]
    log.append_facts(CLUSTER, [fact(end, f"end{number}", at=(20 + number) * HOUR) for number, end in enumerate(ends)])
    log.append_facts(CLUSTER, [fact(stopped("j000011", ["r1-n3"], "x").payload, "stopped", at=30 * HOUR)])
    log.append_facts(CLUSTER, [fact(NodeFailed(node="r1-n1", reason="dead"), "last", at=40 * HOUR)])
    project(log)
    events = list(log.read(CLUSTER))
    for width in TIERS:
        samples = list(books_samples(CLUSTER, width))
        assert samples
        for sample in samples:
            state = ClusterState()
            for event in events:
                if event.occurred_at >= sample.at:
                    break
                evolve(state, event)
            books, told = read_books(state), json.loads(sample.books)
            assert told["use"] == {use: count for use, count in books.use.items() if count}
            assert told["condition"] == {condition: count for condition, count in books.condition.items() if count}
            assert sum(told["use"].values()) == sum(told["condition"].values()) == books.nodes == 4


def test_a_step_chart_of_the_samples_is_right_at_every_sampling_instant() -> None:
    log = story(STEPS)
    project(log)
    samples = {row.at: json.loads(row.books)["condition"] for row in books_samples(CLUSTER, FINE)}
    events, shown = list(log.read(CLUSTER)), None
    for instant in range(min(samples), events[-1].occurred_at, FINE):
        shown = samples.get(instant, shown)
        state = ClusterState()
        for event in events:
            if event.occurred_at < instant:
                evolve(state, event)
        assert shown == {condition: count for condition, count in read_books(state).condition.items() if count}


def test_old_samples_go_so_that_there_are_never_more_than_their_time_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sampling.TIERS, FINE, 5 * FINE)
    project(story([(FINE, NODES[number % 4], number % 8 < 4) for number in range(40)]))
    fine = [row.at for row in books_samples(CLUSTER, FINE)]
    assert len(fine) == 5
    assert max(fine) - min(fine) < 5 * FINE
    assert BooksSample.objects.filter(width=COARSE).exists()


def test_applying_events_twice_is_the_same_as_once_and_so_is_a_rebuild() -> None:
    log = story(STEPS)
    project(log)
    once = contents()
    for back in range(0, log.head(CLUSTER), 3):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE clusters_projectionposition SET seq = %s WHERE name = %s", (back, CapacityRecords.name))
        project(log)
        assert contents() == once, back
    Projector(log, CapacityRecords()).rebuild(CLUSTER)
    assert contents() == once
    assert DomainRecord.objects.count() == 1


def test_what_a_domain_was_found_with_is_no_interruption() -> None:
    log = DatabaseLog()
    create(log)
    log.append_facts(
        CLUSTER, [fact(NodeFailed(node="r1-n1", reason="dead"), "first"), fact(NodeFailed(node="r1-n2", reason="dead"), "b", at=2)]
    )
    project(log)
    (row,) = domain_records(CLUSTER)
    assert (row.first, row.unavailable, row.interruptions) == (1, 2, 1)


def test_a_node_that_leaves_is_no_longer_counted() -> None:
    log = story(STEPS[:1])
    log.append_facts(
        CLUSTER, [fact(RepairFinished(node="r1-n1"), "well", at=HOUR), fact(NodeRemoved(node="r1-n4", reason="sold"), "gone", at=2 * HOUR)]
    )
    project(log)
    (row,) = domain_records(CLUSTER)
    assert (row.nodes, row.unavailable, row.interruptions) == (3, 0, 1)


def test_a_log_that_began_between_two_sampling_instants_has_no_sample_before_it() -> None:
    log = DatabaseLog()
    create(log)
    log.append_facts(CLUSTER, [fact(NodeFailed(node="r1-n1", reason="dead"), "a", at=MINUTE)])
    project(log)
    log.append_facts(CLUSTER, [fact(NodeFailed(node="r1-n2", reason="dead"), "b", at=2 * MINUTE)])
    project(log)  # by another process, which knows nothing of the time before
    assert not books_samples(CLUSTER, FINE).exists()


class Restarts(TestCase):
    """Whatever the budgets, and whichever process does the next part, the rows are the same."""

    @given(
        st.lists(st.tuples(st.integers(0, 30).map(lambda minutes: minutes * MINUTE), st.sampled_from(NODES), st.booleans()), max_size=12),
        st.lists(st.integers(1, 9), max_size=8),
    )
    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    def test_who_writes_and_how_much_at_a_time_does_not_matter(self, steps: list[tuple[Instant, str, bool]], budgets: list[int]) -> None:
        log = story(steps)
        project(log, budgets)
        found = contents()
        Projector(log, CapacityRecords()).rebuild(CLUSTER)
        assert contents() == found

    @given(
        st.lists(st.tuples(st.integers(0, 30).map(lambda minutes: minutes * MINUTE), st.sampled_from(NODES), st.booleans()), max_size=12),
        st.lists(st.integers(1, 9), max_size=8),
    )
    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
    def test_a_restarted_process_misses_nothing_of_domains_and_shapes_and_no_last_sample(
        self, steps: list[tuple[Instant, str, bool]], budgets: list[int]
    ) -> None:
        log = story(steps)
        project(log, budgets, fresh=True)
        found = contents()
        Projector(log, CapacityRecords()).rebuild(CLUSTER)
        whole = contents()
        assert (found["domains"], found["shapes"]) == (whole["domains"], whole["shapes"])
        for key, books in found["books"].items():
            assert whole["books"][key] == books

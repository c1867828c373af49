"""What pages read of a cluster is what folding its whole log says."""

from __future__ import annotations

import pytest

from clusters.domain.commands import NodeVerb
from clusters.domain.events import Payload
from clusters.domain.health_events import NodeFailed, RepairFinished
from clusters.domain.ids import DAY, HOUR
from clusters.domain.jobs import JobKind, JobRequest
from clusters.eventlog.live import live
from scheduling.capacity import domain_levels, read_cluster_capacity, recorded_capacity
from scheduling.domain.capacity.model import usable_now
from scheduling.services import job_submit, node_mark, run_pass
from tests.support.lab import finish, make_lab, project_all, report, start

pytestmark = pytest.mark.django_db


def submit(nodes: int, **fields: object) -> str:
    request = JobRequest(name="work", kind=JobKind.TRAINING, nodes=nodes, **fields)  # type: ignore[arg-type]
    job = job_submit(cluster="lab", request=request, by="ada")
    assert isinstance(job, str)
    run_pass("lab")
    return job


def grow_old() -> None:
    """Failures and repairs over two months, and jobs that end and that run."""
    make_lab()
    for day in range(60):
        node = f"r{day % 3 + 1}-n{day % 7 + 1:02d}"
        away: list[Payload] = [NodeFailed(node=node, reason="dead")]
        report(*away, at=day * DAY)
        report(RepairFinished(node=node), at=day * DAY + (day % 5 + 1) * HOUR)
    for nodes, fields in ((32, {}), (24, {"slice_size": 8}), (20, {"tail": True, "slice_size": 16, "max_slice": 16})):
        job = submit(nodes, **fields)
        start(job)
        finish(job)
    start(submit(32))


def test_recorded_is_what_the_whole_log_says() -> None:
    grow_old()
    assert node_mark(cluster="lab", node="r4-n05", verb=NodeVerb.FAIL, by="op") is None
    project_all()
    recorded, folded = recorded_capacity("lab"), read_cluster_capacity("lab")
    assert recorded.fleet == folded.fleet
    assert recorded.live.domains == folded.live.domains
    assert recorded.live.observed.since == folded.live.observed.since
    # The clock of this cluster is the wall's, so the two looks are a moment apart; all that has ended is the same.
    assert recorded.live.observed.domains.keys() == folded.live.observed.domains.keys() == {"r1", "r2", "r3", "r4"}
    for name, times in folded.live.observed.domains.items():
        mine = recorded.live.observed.domains[name]
        assert (mine.interruptions, mine.whole_outages) == (times.interruptions, times.whole_outages)
        assert mine.spells.keys() == times.spells.keys()
        for level, time in times.spells.items():
            assert mine.spells[level] == pytest.approx(time, abs=60_000_000)
    assert recorded.mix.keys() == folded.mix.keys()
    for shape, used in folded.mix.items():
        assert recorded.mix[shape] == pytest.approx(used, abs=40 * 60_000_000)
    assert sum(times.interruptions for times in recorded.live.observed.domains.values()) == 61


def test_levels_say_what_slices_can_use_now() -> None:
    make_lab()
    for node in ("r1-n01", "r1-n02", "r1-n03", "r2-n01"):
        assert node_mark(cluster="lab", node=node, verb=NodeVerb.FAIL, by="op") is None
    with live("lab").reading() as state:
        levels = domain_levels(state)
    assert levels == ((18, 15), (18, 17), (18, 18), (18, 18))
    assert [usable_now(levels, (size,)) for size in (8, 9, 16, 18)] == [56, 54, 48, 36]


def test_without_any_row_nothing_was_observed() -> None:
    make_lab()
    capacity = recorded_capacity("lab")
    assert (capacity.live.observed.since, capacity.live.observed.domains, dict(capacity.mix)) == (None, {}, {})
    assert capacity.fleet.nodes == 72

"""What a log says of how its jobs fared."""

from __future__ import annotations

import pytest

from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.commands import MarkNode, NodeVerb, SubmitJob
from clusters.domain.ids import DAY, MINUTE
from clusters.domain.jobs import JobRequest
from scheduling.simulator.report import ClusterReport, lines_of
from tests.domain.fleet.stage import NAME, START, Stage, ask

QUIET = FleetOptions(failures_per_node_day=0)


def report_on(stage: Stage) -> ClusterReport:
    report = ClusterReport()
    for event in stage.events:
        report.take(event)
    return report


def submit(stage: Stage, request: JobRequest) -> None:
    stage.do(SubmitJob(request=request, by="ada"), f"submit/{len(stage.events)}")


def test_waits_are_counted_with_their_reasons_and_the_use_of_gpus_is_summed() -> None:
    stage = Stage(1, QUIET)
    submit(stage, ask(16, run_s=980, name="first"))
    submit(stage, ask(16, run_s=980, name="second"))
    submit(stage, ask(gpus=1, run_s=980, name="small"))
    stage.play(START + DAY)
    summary = report_on(stage).summary()
    assert summary["outcomes"] == {"finished": 3}
    assert summary["waited_over_60s"] == 2
    assert [(job["name"], job["blocked_by"]) for job in summary["examples"]] == [
        ("small", ["capacity-blocked"]),
        ("second", ["capacity-blocked"]),
    ]
    # Two jobs of 64 GPUs for 1,000 s each and one GPU as long, of 72 GPUs in the time it took.
    hours = report_on(stage)
    assert hours.first is not None
    assert summary["utilisation"] == pytest.approx((2 * 64 + 1) * 1000 / (72 * (hours.last - hours.first) / 1e6), rel=0.001)
    assert list(summary["wait_s"]) == ["below a node", "16 nodes"]


def test_swaps_moves_and_failures_are_counted_and_a_lost_node_is_in_use_no_more() -> None:
    stage = Stage(2, QUIET)
    submit(stage, ask(16, run_s=3600))
    stage.play(START + MINUTE)
    for number in range(3):
        stage.do(MarkNode(node=f"r001-n{number + 1:02d}", verb=NodeVerb.FAIL, by="op"), f"fail/{number}")
        stage.play(START + (2 + number) * MINUTE)
    stage.play(START + 100 * DAY)
    summary = report_on(stage).summary()
    assert [summary[what] for what in ("failures", "swaps", "moves", "stalls")] == [3, 2, 1, 0]
    assert 0 < summary["utilisation"] < 1
    assert any("3 failures: 2 swaps, 1 slice moves" in line for line in lines_of(summary))


def test_a_log_without_jobs_reports_nothing() -> None:
    summary = report_on(Stage(1, QUIET)).summary()
    assert (summary["jobs"], summary["utilisation"], summary["wait_s"]) == (0, 0.0, {})
    assert NAME not in "".join(lines_of(summary))

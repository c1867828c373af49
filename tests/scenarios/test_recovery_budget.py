"""A job that brings down a node every minute: it takes as many spares as the policy allows in an hour, and then it holds and says so."""

from __future__ import annotations

from clusters.connectors.simulated.options import REPAIR_FLAT, FleetOptions
from clusters.domain.commands import MarkNode, NodeVerb, SubmitJob
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.invariants import check
from clusters.domain.job_events import NodeSwapped, SliceMoved, SliceStalled
from clusters.domain.jobs import JobState
from clusters.domain.state import Job
from clusters.eventlog.verify import verify
from scheduling.domain.decide import decide
from scheduling.domain.why import why
from tests.domain.fleet.stage import NAME, START, Stage, ask

OPTIONS = FleetOptions(failures_per_node_day=0, repair_model=REPAIR_FLAT, repair_mean_h=48)


def test_a_job_that_kills_a_node_every_minute_stops_after_twelve_and_says_so() -> None:
    stage = Stage(6, OPTIONS)
    stage.do(SubmitJob(request=ask(16, run_s=30 * 86_400), by="ada"), "submit")
    stage.play(START + 10 * MINUTE)
    for minute in range(11, 31):
        stage.play(START + minute * MINUTE)
        with stage.log.live(NAME).reading() as state:
            (job,) = state.jobs.values()
            first = job.slices[0].nodes[0]
        if first is not None:
            stage.do(MarkNode(node=first, verb=NodeVerb.FAIL, by="op"), f"fail/{minute}")
    told = stage.told("NodeSwapped", "SliceMoved", "SliceStalled")
    recoveries = [(at, payload) for at, payload in told if isinstance(payload, NodeSwapped | SliceMoved)]
    stalls = [payload for _, payload in told if isinstance(payload, SliceStalled)]
    assert (len(recoveries), [stalled.code for stalled in stalls]) == (12, ["recovery_budget"])
    until = int(stalls[0].counts["until"])
    assert until == int(recoveries[0][0] * 1_000_000) + START + HOUR
    with stage.log.live(NAME).reading() as state:
        (job,) = state.jobs.values()
        answer = why(state, job, state.frontier)
        assert _lost(job) == 1
    assert (answer.state, answer.text.partition(";")[0]) == (
        JobState.STALLED,
        "its lost nodes were replaced 12 times in the last hour, the policy's limit",
    )

    stage.play(until + MINUTE)
    with stage.log.live(NAME).reading() as state:
        (job,) = state.jobs.values()
        assert (job.state, _lost(job)) == (JobState.RUNNING, 0)
        assert check(state) == []
    assert verify(stage.log, NAME, decide).differences == []


def _lost(job: Job) -> int:
    return len(job.lost_slots)

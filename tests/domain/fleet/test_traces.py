"""Reading traces, and fitting them to a cluster."""

from __future__ import annotations

import math

import pytest

from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import DAY, HOUR, SECOND
from clusters.domain.jobs import JobKind
from scheduling.simulator.planning import TracePlan, check_options, plan_trace
from scheduling.simulator.traces import Trace, read_trace
from tests.domain.fleet.stage import NAME, Stage
from tests.support.shared import shared_path

KINDS = b"job,submit_s,kind,gpus,nodes_at_4,duration_s,status\n"
TEAMS = b"submit_s,duration_s,gpus,vc\n"


def plan_on(racks: int, trace: Trace, *, load: float | None = None, days: float | None = None) -> TracePlan:
    with Stage(racks, FleetOptions()).log.live(NAME).reading() as state:
        return plan_trace(state, trace, load=load, days=days)


def test_kinds_and_outcomes_are_translated() -> None:
    rows = [
        b"a,5,pretrain,64,16,60,COMPLETED",
        b"b,6,evaluation,1,1,60,FAILED",
        b"c,7,debug,4,1,60,CANCELLED",
        b"d,8,other,2,1,0,COMPLETED",
    ]
    jobs = read_trace(KINDS + b"\n".join(rows)).jobs
    assert [(job.row, job.name, job.kind, job.outcome) for job in jobs] == [
        (0, "a", JobKind.TRAINING, "finished"),
        (1, "b", JobKind.BATCH, "failed"),
        (2, "c", JobKind.INTERACTIVE, "cancelled"),
        (3, "d", JobKind.BATCH, "finished"),
    ]
    assert jobs[3].duration_s == 1


def test_the_other_form_says_whose_a_job_is_and_rows_count_in_order_of_submission() -> None:
    jobs = read_trace(TEAMS + b"9,60,8,x\n3,60,1,y\n").jobs
    assert [(job.row, job.submit_s, job.team, job.kind, job.outcome) for job in jobs] == [
        (0, 3, "y", JobKind.BATCH, "finished"),
        (1, 9, "x", JobKind.BATCH, "finished"),
    ]


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"", "columns"),
        (b"\xff\xfe", "file"),
        (b"a,b\n1,2\n", "columns"),
        (TEAMS, "file"),
        (TEAMS + b"1,2,3\n4,-5,6,x\n", "line 3, duration_s"),
        (TEAMS + b"1,2,,x\n", "line 2, gpus"),
        (TEAMS + b"1,2,0,x\n", "line 2, gpus"),
        (TEAMS + b"1,1e9,1,x\n", "line 2, duration_s"),
        (KINDS + b"a,1,sleep,1,1,60,COMPLETED\n", "line 2, kind"),
        (KINDS + b"a,1,debug,1,1,60,LOST\n", "line 2, status"),
        (KINDS + b"a\0b,1,debug,1,1,60,COMPLETED\n", "line 2, job"),
        (TEAMS + "1,2,3,\u202ex\n".encode(), "line 2, vc"),
        (TEAMS + b"1,2,100001,x\n", "line 2, gpus"),
        (TEAMS + b"1,2," + b"9" * 5_000 + b",x\n", "line 2, gpus"),
        (TEAMS + b'1,2,3,"' + b"x" * 200_000 + b'"\n', "file"),
        (TEAMS.replace(b"\n", b"\r") + b"1,2,3,x\r", "file"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line_and_column(content: bytes, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_trace(content)
    assert refused.value.field == field


def test_small_jobs_ask_for_gpus_and_others_for_whole_nodes() -> None:
    trace = read_trace(TEAMS + b"0,60,1,x\n1,60,3,x\n2,60,4,x\n3,60,9,x\n")
    assert [(item.request.gpus, item.request.nodes) for item in plan_on(1, trace).items] == [(1, None), (3, None), (None, 1), (None, 3)]


def test_load_stretches_the_times_of_submission_of_the_whole_file_and_leaves_durations() -> None:
    # 72 GPUs for half an hour in a span of one hour: a load of one half on one rack.
    trace = read_trace(TEAMS + b"0,1800,72,x\n3600,0,1,x\n")
    plan = plan_on(1, trace, load=0.25)
    assert plan.own_load == pytest.approx(0.5, rel=0.001)
    assert plan.stretch == pytest.approx(2.0, rel=0.001)
    assert [item.offset // SECOND for item in plan.items] == [0, pytest.approx(7200, rel=0.001)]
    assert plan.items[0].duration == HOUR // 2


def test_days_keep_the_beginning() -> None:
    trace = read_trace(TEAMS + b"".join(b"%d,60,1,x\n" % (day * 86_400) for day in range(10)))
    plan = plan_on(1, trace, days=3)
    assert [item.offset for item in plan.items] == [day * DAY for day in range(3)]


@pytest.mark.parametrize(
    "options",
    [
        {"speed": math.nan}, {"speed": math.inf}, {"speed": 0.0}, {"speed": 1e6},
        {"speed": 1.0, "load": math.nan}, {"speed": 1.0, "load": -1.0}, {"speed": 1.0, "load": 101.0},
        {"speed": 1.0, "days": math.nan}, {"speed": 1.0, "days": 0.0}, {"speed": 1.0, "days": math.inf},
    ],
)  # fmt: skip
def test_speed_load_and_days_that_nobody_can_mean_are_named(options: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest, match="give a number from") as refused:
        check_options(**options)
    assert refused.value.field == list(options)[-1]


def test_a_load_so_low_that_jobs_would_come_for_ages_is_refused() -> None:
    trace = read_trace(TEAMS + b"0,%d,72,x\n%d,60,1,x\n" % (90 * 86_400, 30 * 86_400))
    with pytest.raises(InvalidRequest, match="give more, or fewer days"):
        plan_on(1, trace, load=0.001)
    assert len(plan_on(1, trace, load=0.001, days=1).items) == 1


def test_what_can_never_run_is_left_out_and_counted_with_the_reason() -> None:
    plan = plan_on(1, read_trace(TEAMS + b"0,60,128,x\n1,60,128,x\n2,60,64,x\n"))
    assert len(plan.items) == 1
    ((reason, jobs),) = plan.refused.items()
    assert jobs == 2
    assert reason.startswith("32 nodes: ")


def test_the_trace_of_the_acceptance_run_gives_about_2500_jobs() -> None:
    trace = read_trace(shared_path("data", "traces", "kalos_like_synthetic_30d.csv").read_bytes())
    plan = plan_on(17, trace, load=0.9, days=7)
    assert (len(trace.jobs), len(plan.items), plan.refused) == (5637, 2489, {})


def test_a_real_trace_reads_too() -> None:
    trace = read_trace(shared_path("data", "traces", "philly_jobs_2017-10-09_14d.csv").read_bytes())
    assert len(trace.jobs) == 26_936

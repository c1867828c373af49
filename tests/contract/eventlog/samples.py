"""One sample of each kind of event, with every field set; golden/ holds each as the JSON that it must stay readable from.

`python -m tests.contract.eventlog.samples` writes the files of new kinds and versions. A file that exists is never written again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from clusters.domain import defrag_events as defrag
from clusters.domain import health_events as health
from clusters.domain import incident_events as incidents
from clusters.domain import inventory_events as inventory
from clusters.domain import job_events as jobs
from clusters.domain import signal_events as signals
from clusters.domain import space_events as space
from clusters.domain import switch_events as switches
from clusters.domain.constraints import JobPart, Layer, LevelMode, ParallelPlan
from clusters.domain.defrag import Plan, PlanAim, PlanMove, PlanStatus, Rival
from clusters.domain.events import PAYLOADS, Payload, PolicyActivated
from clusters.domain.health import Flag
from clusters.domain.jobs import JobKind, JobRequest, OnStall, Recovery
from clusters.domain.lost_work import LossCause
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState
from clusters.domain.setting import Backfill, DefragMode, QueueOrder, SparesScope
from clusters.domain.signals import SignalKind, SignalScope
from clusters.domain.teams import Exempt, PriorityClass, Quota

GOLDEN = Path(__file__).parent / "golden"

_REQUEST = JobRequest(
    name="pretrain 7",
    kind=JobKind.TRAINING,
    nodes=32,
    slice_size=8,
    max_slice=16,
    tail=True,
    spares=1,
    priority=-5,
    restartable=False,
    expected_run_s=3600,
    checkpoint_interval_s=600,
    recovery=Recovery.PEER,
    team="vision",
    held=True,
)
_RICH = replace(
    _REQUEST,
    kind=JobKind.RL,
    nodes=24,
    slice_size=4,
    on_stall=OnStall.SHRINK,
    priority_class="production",
    level="block",
    mode=LevelMode.PREFERRED,
    layers=(Layer(level="block", size=16), Layer(level="rack", size=8)),
    exclusive=True,
    parts=(
        JobPart(name="trainer", nodes=16, slice_size=8, max_slice=8, level="block", mode=LevelMode.REQUIRED),
        JobPart(name="rollout", nodes=8),
    ),
    plan=ParallelPlan(tp=4, ep=2, pp=3, dp=4),
    time_limit_s=7_200,
    not_before=12,
    after=("j000001",),
)
_SHARED = JobRequest(name="notebook", kind=JobKind.INTERACTIVE, gpus=2)
_SLICE = jobs.SliceAssignment(domain="a1b2.1", nodes=("r1-n01", "r1-n02"))
_COUNTS: dict[str, int | str] = {"needed": 16, "free": 12, "level": "domain"}
_NODE = "r1-n01"
_JOB = "j000123"
_PLAN = "p000140"
_PROPOSAL = Plan(
    aim=PlanAim.JOB,
    job="j000200",
    domains=("a1b2.1",),
    nodes=(_NODE, "r1-n02"),
    moves=(
        PlanMove(job="j000100", generation=1, slice=0, domain="a1b2.1", nodes=("r1-n02",), to=None, cost=9_000, lost=4_500),
        PlanMove(job=_JOB, generation=3, slice=1, domain="a1b2.1", nodes=(_NODE,), to=_SLICE, cost=1_200, lost=600),
    ),
    cost=10_200,
    bound=9_800,
    slice_only=9_000,
    rivals=(Rival(domains=("c3d4.1",), cost=None, reason="j000101 is interactive"),),
    solver="highs",
    status="time limit",
    seconds=3.5,
    at_seq=139,
    at=60,
)

_POLICY_ACTIVATED = PolicyActivated(
    version=2,
    policy=Policy(
        slice_size=16,
        target_spares=3,
        min_spares=1,
        spares_scope=SparesScope.ALL,
        lending=True,
        backfill=Backfill.CONSERVATIVE,
        reservation_depth=7,
        default_run_s=3_600,
        refusal_settle_s=30,
        fair_share_half_life_h=48,
        classes=(PriorityClass(name="urgent", priority=500, ageing=0), PriorityClass(name="rest", priority=-5, ageing=12)),
        quotas=(Quota(team="vision", gpus=256, borrow=64), Quota(team="*", gpus=32)),
        incident_memory_s=600,
        soft_window_s=60,
        recovery_quiet_s=90,
        flap_verdicts=5,
        flap_window_h=48,
        incident_nodes=4,
        incident_rack_nodes=6,
        check_repaired=True,
        recoveries_per_hour=6,
        queue_order=QueueOrder.SIZE,
        interactive_preemptible=True,
        offender_failures=4,
        unreachable_limit_s=60,
        soft_signals=5,
        breaker_percent=25,
        incident_window_ms=2_000,
        defrag_mode=DefragMode.AUTO,
        defrag_wait_s=900,
        defrag_moves=3,
        defrag_cooldown_s=7_200,
        defrag_may_wait=True,
        defrag_use_spares=True,
        defrag_grace_s=90,
        defrag_claim_s=900,
        defrag_jobs_per_hour=20,
        defrag_team_per_hour=5,
        defrag_seconds=8,
        exempt=(Exempt(team="serving"),),
    ),
    reason="more spares",
    by="ada",
)

SAMPLES: tuple[Payload, ...] = (
    inventory.ClusterCreated(name="lab", connector="simulated", options={"failure_rate": 0.002}),
    inventory.RackRegistered(rack="r1", block="b1", switch_trays=9, fabric_gbps=400),
    inventory.NodeRegistered(
        node=_NODE, rack="r1", domain="a1b2.1", gpus=4, product="GB200", problem="no clique", evidence=("GpuHealth=False: Xid 79",)
    ),
    inventory.NodeChanged(node=_NODE, rack="r1", domain=None, gpus=4, product="GB200", problem="no clique", evidence=("x",)),
    inventory.NodeAbsent(node=_NODE),
    inventory.NodeRemoved(node=_NODE, reason="sold"),
    inventory.RackRemoved(rack="r1", reason="sold", by="ada"),
    inventory.ClockSet(wall=1_900_000_000_000_000, cluster_time=5, speed=300.5),
    inventory.ArrivalsPlanned(
        plan="9f86d081", base=10, items=(inventory.Arrival(row=3, offset=7, request=_SHARED, duration=9, outcome="failed"),)
    ),
    health.NodeFailed(node=_NODE, reason="Xid 79", fencing=True, evidence=("syslog",)),
    health.NodeRecovered(node=_NODE, reason="reset", flags=(Flag.SUSPECT,)),
    health.NodeSuspected(node=_NODE, reason="slow", evidence=("probe",)),
    health.NodeUnreachable(node=_NODE, reason="no heartbeat"),
    health.NodeDegraded(node=_NODE, reason="one NVSwitch lost"),
    health.NodeQuarantined(node=_NODE, owner="ada", reason="flapping", exit_rule="24 h quiet", evidence=("f1", "f2")),
    health.NodeReleased(node=_NODE, reason="tested"),
    health.NodeDraining(node=_NODE, reason="firmware"),
    health.NodeUndrained(node=_NODE, reason="done"),
    health.RackStateChanged(rack="r1", state=RackState.NO_NEW_LONG_JOBS, until=77, reason="firmware", by="ada"),
    health.RepairStarted(node=_NODE, reason="ticket 4"),
    health.RepairFinished(node=_NODE, reason="tray swapped"),
    health.NodeCheckRequested(node=_NODE, number=3),
    health.NodeChecked(node=_NODE, number=3, passed=True, detail="nvbandwidth ended with code 0"),
    switches.SwitchTrayFailed(rack="r1", tray=4, chip=2, reason="dark"),
    switches.SwitchTrayRepaired(rack="r1", tray=4, chip=1, reason="exchanged"),
    signals.SignalReceived(
        node=_NODE,
        code="xid:149",
        kind=SignalKind.FATAL,
        scope=SignalScope.SHARED,
        check="kernel",
        component="gpu 0008:01:00",
        text="NETIR_LINK_EVT",
        action="RESET_GPU",
        lasting=True,
        evidence=("NVRM: Xid",),
    ),
    incidents.IncidentOpened(domain="a1b2.1", nodes=(_NODE, "r1-n02"), cause="nvlink", since=40, evidence=("xid:149 on r1-n01",)),
    incidents.IncidentExtended(incident="i000009", nodes=("r1-n03",), evidence=("xid:149 on r1-n03",)),
    incidents.IncidentClosed(incident="i000009", reason="all nodes are in service again"),
    incidents.BreakerTripped(out=8, wanted=4, limit=10, reason="12 of 100 nodes"),
    incidents.BreakerReset(by="ada", reason="looked"),
    jobs.JobSubmitted(request=_RICH, submitted_by="ada", arrival="9f86d081:3"),
    jobs.JobHeld(job=_JOB, reason="budget"),
    jobs.JobReleased(job=_JOB, reason="budget"),
    jobs.JobBlocked(job=_JOB, code="topology-blocked", counts=_COUNTS),
    jobs.JobPlaced(job=_JOB, generation=1, slices=(_SLICE, jobs.SliceAssignment(domain="c3d4.1", nodes=("r2-n01",), gpus=(1, 3)))),
    jobs.WorkStarted(job=_JOB, generation=1, nodes=(_NODE,)),
    jobs.WorkStopped(job=_JOB, generation=1, nodes=(_NODE,), reason="exit 0"),
    jobs.StopRequested(job=_JOB, generation=1, nodes=(_NODE,), after=jobs.AfterStop.CANCELLED, reason="cancelled by ada"),
    jobs.NodeSwapped(job=_JOB, generation=2, slice=0, slot=1, old="r1-n02", new="r1-n17", reason="Xid 79"),
    jobs.SliceMoved(
        job=_JOB, generation=3, slice=0, old_domain="c3d4.1", assignment=_SLICE, released=("r2-n01",), lost=("r2-n02",), reason="no spare"
    ),
    jobs.SliceStalled(job=_JOB, generation=3, slice=1, code="capacity-blocked", counts=_COUNTS),
    jobs.JobPreempted(job=_JOB, generation=3, by="j000200", reason="makes room"),
    jobs.JobResized(job=_JOB, nodes=16, reason="no place for a slice"),
    jobs.JobRequeued(job=_JOB, reason="preempted"),
    jobs.JobFinished(job=_JOB, generation=3),
    jobs.JobFailed(job=_JOB, generation=3, reason="exit 1"),
    jobs.JobCancelled(job=_JOB, reason="by ada"),
    jobs.JobChanged(job=_JOB, priority=10),
    jobs.CheckpointReported(job=_JOB, generation=3, step=4_000, at=70),
    jobs.WorkLost(job=_JOB, team="vision", cause=LossCause.NODE_FAILED, rollback_gpu_s=3_600, stall_gpu_s=90),
    space.SpaceReserved(job=_JOB, nodes=(_NODE, "r1-n02"), starts_at=50, expires_at=90, reason="first in the queue"),
    space.SpareLent(job=_JOB, nodes=(_NODE,)),
    space.SpareReclaimed(job=_JOB, nodes=(_NODE,), by="j000009", reason="job j000009 needs the spares that were lent"),
    space.SpaceFreed(job=_JOB, reason="a better place"),
    space.ReservationExpired(job=_JOB, reason="not used in time"),
    defrag.DefragPlanned(proposal=_PROPOSAL, reason="it has been topology-blocked for 2 min"),
    defrag.DefragApproved(plan=_PLAN, by="policy"),
    defrag.DefragRejected(plan=_PLAN, by="ada", reason="not tonight"),
    defrag.CheckpointRequested(job=_JOB, generation=3, plan=_PLAN, reason="makes room for job j000200"),
    defrag.DefragStepDone(plan=_PLAN, step=1, victim=_JOB),
    defrag.DefragFinished(plan=_PLAN, reason="job j000200 has its nodes"),
    defrag.DefragAborted(plan=_PLAN, status=PlanStatus.EXPIRED, reason="job j000200 no longer waits"),
    defrag.RoomRequested(domains=3, by="ada", reason="maintenance", at=99),
    defrag.RoomDropped(by="ada", reason="not needed"),
    _POLICY_ACTIVATED,
)

#: What policies were before these settings came.
_OLD_POLICY = Policy(
    classes=(PriorityClass(name="standard", priority=0, ageing=0),),
    backfill=Backfill.OFF,
    refusal_settle_s=0,
    incident_memory_s=0,
    check_repaired=False,
    recoveries_per_hour=0,
    defrag_mode=DefragMode.AUTO,
    defrag_wait_s=600,
)

#: What older versions must come to when they are read: (kind, version) -> payload of today.
UPCAST: dict[tuple[str, int], Payload] = {
    ("PolicyActivated", 1): PolicyActivated(
        version=2,
        policy=replace(
            _OLD_POLICY,
            slice_size=16,
            target_spares=3,
            min_spares=1,
            spares_scope=SparesScope.ALL,
            lending=True,
            interactive_preemptible=True,
        ),
        reason="more spares",
        by="ada",
    ),
    ("PolicyActivated", 2): PolicyActivated(
        version=2,
        policy=replace(
            _OLD_POLICY,
            slice_size=16,
            target_spares=3,
            min_spares=1,
            spares_scope=SparesScope.ALL,
            lending=True,
            queue_order=QueueOrder.SIZE,
            interactive_preemptible=True,
            offender_failures=4,
            unreachable_limit_s=60,
            soft_signals=5,
            breaker_percent=25,
            incident_window_ms=2_000,
            defrag_wait_s=900,
            defrag_moves=3,
            defrag_cooldown_s=7_200,
        ),
        reason="more spares",
        by="ada",
    ),
    ("PolicyActivated", 3): replace(
        _POLICY_ACTIVATED, policy=replace(_POLICY_ACTIVATED.policy, check_repaired=False, recoveries_per_hour=0)
    ),
    ("ArrivalsPlanned", 1): inventory.ArrivalsPlanned(
        plan="9f86d081", base=10, items=(inventory.Arrival(row=3, offset=7, request=_SHARED, duration=9, outcome="failed"),)
    ),
    ("NodeRecovered", 1): health.NodeRecovered(node=_NODE, reason="reset"),
    ("JobSubmitted", 2): jobs.JobSubmitted(request=_REQUEST, submitted_by="ada", arrival="9f86d081:3"),
    ("RackRegistered", 1): inventory.RackRegistered(rack="r1", block="b1", switch_trays=9),
    ("JobSubmitted", 1): jobs.JobSubmitted(request=replace(_REQUEST, name="old"), submitted_by="ada", arrival=""),
}


def sample_of(kind: str, version: int) -> Payload | None:
    """What the golden file of a kind and version must be read as."""
    if version == PAYLOADS[kind].VERSION:
        return next((sample for sample in SAMPLES if type(sample).__name__ == kind), None)
    return UPCAST.get((kind, version))


def golden_file(kind: str, version: int) -> Path:
    return GOLDEN / f"{kind}.{version}.json"


def write_missing() -> None:
    for sample in SAMPLES:
        file = golden_file(type(sample).__name__, sample.VERSION)
        if not file.exists():
            file.write_bytes(msgspec.json.format(msgspec.json.encode(sample), indent=2) + b"\n")


if __name__ == "__main__":
    write_missing()

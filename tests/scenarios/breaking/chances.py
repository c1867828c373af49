"""What a random story draws from: clusters of all shapes, policies with any settings, and requests for anything that can be asked for."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from clusters.domain.constraints import JobPart, Layer, LevelMode
from clusters.domain.ids import HOUR, MINUTE, Instant
from clusters.domain.jobs import JobKind, JobRequest, OnStall, Recovery
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill, DefragMode, Preemption, QueueOrder, SparesScope
from clusters.domain.teams import Exempt, PriorityClass, Quota
from tests.support.world import Spec, racks

SHAPES: dict[str, list[Spec]] = {
    "single nodes of 8 GPUs": [(f"h{n}", f"b{n // 4}", f"h{n}", 1, 8) for n in range(9)],
    "racks of 4": racks(6, nodes=4, per_block=3),
    "racks of 9": racks(4, nodes=9, per_block=2),
    "racks of 18": racks(3, per_block=2),
    "one domain of 72 over four racks": [(f"r{n}", "b1", "d1", 18, 4) for n in range(4)],
    "two domains in a rack": [("r1", "b1", "d1", 9, 4), ("r1", "b1", "d2", 9, 4), ("r2", "b2", "d3", 18, 4)],
    "a domain over two racks, and nodes without one": [("r1", "b1", "d1", 9, 4), ("r2", "b2", "d1", 9, 4), ("r3", "b2", None, 2, 4)],
}

TEAMS = ("", "red", "blue")


def shape(chance: Random) -> list[Spec]:
    """A cluster."""
    return SHAPES[chance.choice(sorted(SHAPES))]


def policy(chance: Random) -> Policy:
    """Any policy; its times are short beside a story, so that they matter in it."""
    target = chance.choice((0, 1, 2, 2))
    made = Policy(
        slice_size=chance.choice((None, None, 3, 4, 8, 16)),
        target_spares=target,
        min_spares=chance.randint(0, target) if chance.random() < 0.3 else 0,
        spares_scope=chance.choice(list(SparesScope)),
        lending=chance.random() < 0.5,
        queue_order=chance.choice(list(QueueOrder)),
        backfill=chance.choice(list(Backfill)),
        reservation_depth=chance.choice((1, 4)),
        default_run_s=chance.choice((600, 7_200)),
        refusal_settle_s=chance.choice((0, 60)),
        fair_share_half_life_h=chance.choice((0, 1)),
        preemption=chance.choice(list(Preemption)),
        interactive_preemptible=chance.random() < 0.3,
        defrag_mode=chance.choice(list(DefragMode)),
        defrag_may_wait=chance.random() < 0.5,
        defrag_use_spares=chance.random() < 0.5,
    )
    return _times(chance, _tables(chance, made))


def _tables(chance: Random, made: Policy) -> Policy:
    if chance.random() < 0.4:
        rows = [Quota(team=team, gpus=chance.choice((0, 16, 64)), borrow=chance.choice((None, 0, 16))) for team in ("red", "*")]
        made = replace(made, quotas=tuple(rows))
    if chance.random() < 0.2:
        made = replace(made, exempt=(Exempt(team="blue"),))
    if chance.random() < 0.2:
        made = replace(
            made, classes=(PriorityClass(name="only", priority=0, ageing=0), PriorityClass(name="production", priority=9, ageing=4))
        )
    return made


def _times(chance: Random, made: Policy) -> Policy:
    return replace(
        made,
        offender_failures=chance.choice((1, 2)),
        incident_memory_s=chance.choice((0, 600)),
        unreachable_limit_s=chance.choice((0, 60, 300)),
        soft_signals=chance.choice((1, 2, 3)),
        soft_window_s=chance.choice((60, 600)),
        recovery_quiet_s=chance.choice((0, 30, 300)),
        flap_verdicts=chance.choice((2, 3)),
        breaker_percent=chance.choice((1, 10, 100)),
        incident_window_ms=chance.choice((0, 1_000)),
        incident_nodes=chance.choice((2, 3)),
        incident_rack_nodes=chance.choice((2, 3, 8)),
        check_repaired=chance.random() < 0.7,
        recoveries_per_hour=chance.choice((0, 1, 2, 12)),
        defrag_wait_s=chance.choice((0, 60)),
        defrag_cooldown_s=chance.choice((0, 60, 3_600)),
        defrag_grace_s=chance.choice((0, 60)),
        defrag_claim_s=chance.choice((60, 1_800)),
        defrag_jobs_per_hour=chance.choice((0, 2, 12)),
    )


def request(chance: Random, now: Instant, jobs: list[str]) -> JobRequest:
    """Anything that somebody may ask for."""
    asked: dict[str, Any] = {
        "name": "work",
        "kind": chance.choice(list(JobKind)),
        "team": chance.choice(TEAMS),
        "priority": chance.choice((0, 0, 0, 5, -5, 300)),
        "restartable": chance.random() < 0.8,
        "recovery": chance.choice(list(Recovery)),
        "on_stall": chance.choice(list(OnStall)),
        "held": chance.random() < 0.05,
        "spares": chance.choice((None, None, None, 0, 1, 3)),
        "exclusive": chance.random() < 0.1,
        "priority_class": chance.choice(("", "", "production")),
        "expected_run_s": chance.choice((None, 60, 600, 3_600)),
        "checkpoint_interval_s": chance.choice((None, 60, 600)),
        "time_limit_s": chance.choice((None, None, 60, 600, 3_600)),
        "not_before": now + chance.choice((MINUTE, HOUR)) if chance.random() < 0.1 else None,
        "after": tuple(chance.sample(jobs, min(len(jobs), 2))) if chance.random() < 0.1 else (),
    }
    return JobRequest(**{**asked, **_size(chance)})


def _size(chance: Random) -> dict[str, Any]:
    which = chance.random()
    if which < 0.25:
        return {"gpus": chance.choice((1, 1, 2, 3, 4, 8, 12))}
    if which < 0.75:
        return {"nodes": chance.choice((1, 1, 2, 2, 3, 4, 6, 8, 9, 16, 18, 20, 32, 36))}
    return chance.choice(_SHAPED)


_TRAINER = JobPart(name="trainer", nodes=6, max_slice=3, level="block", mode=LevelMode.REQUIRED)
_SHAPED: tuple[dict[str, Any], ...] = (
    {"nodes": 12, "slice_size": 4, "max_slice": 4},
    {"nodes": 7, "slice_size": 3, "tail": True},
    {"nodes": 9, "level": "domain", "mode": LevelMode.REQUIRED},
    {"nodes": 4, "level": "rack", "mode": LevelMode.PREFERRED},
    {"nodes": 8, "max_slice": 4, "level": "block", "mode": LevelMode.REQUIRED},
    {"nodes": 12, "slice_size": 2, "max_slice": 2, "layers": (Layer(level="block", size=4),)},
    {"nodes": 10, "parts": (_TRAINER, JobPart(name="rollout", nodes=4))},
)

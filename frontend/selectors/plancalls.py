"""What calls for a plan while there is none: what was found out when one was looked for, or why none is looked for yet."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clusters.eventlog.live import live
from frontend.selectors.clusters import now_of, reading
from scheduling.domain.defrag_trigger import causes, left_alone
from scheduling.searches import vain_searches


class PlanCall(msgspec.Struct, frozen=True):
    """Something that a plan would help, and why there is none."""

    job: str  # "" for whole domains
    name: str  # of the job
    aim: str
    reason: str  # why a plan is wanted
    searched_at_us: int | None  # cluster time of the state that was searched last; None: not yet, or it was left alone
    code: str  # why there is no plan: budget, stays, moves, places, outdated, cooldown; "" where nobody has looked yet
    message: str  # the same in words
    counts: Mapping[str, int]
    stays: Mapping[str, int]  # why jobs stay where they are -> how many jobs
    narrowed: str  # what was asked of the plan beyond what the job asks
    until_us: int | None = None  # cluster time before which none is looked for


_BLOCKED = "topology keeps it waiting"


def plan_calls(cluster: str) -> list[PlanCall]:
    """All of them, the most urgent first; raises UnknownCluster."""
    with reading(cluster) as state:
        now, epoch = now_of(state), live(cluster).position.epoch
        found = list(causes(state, now))
        names = {job.id: job.request.name for job in state.jobs.values()}
        resting = [
            PlanCall(job.id, job.request.name, aim.value, _BLOCKED, None, "cooldown", "a plan for it was rejected", {}, {}, "", until)
            for aim, job, until in left_alone(state, now)
        ]
    vain = vain_searches(epoch)
    calls = []
    for cause in found:
        last = vain.get(cause.job)
        told = ("", "", {}, {}, "") if last is None else (last.code, last.message, last.counts, last.stays, last.narrowed)
        at = None if last is None else last.at
        calls.append(PlanCall(cause.job, names.get(cause.job, ""), cause.aim.value, cause.reason, at, *told))
    return calls + resting

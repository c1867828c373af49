"""How often lost nodes of one job are replaced: a job that brings its nodes down is not to take one spare after another.

A swap counts once for each node, a move once for the slice. A slice that begins under the limit is made whole, even beyond it; then the job
holds: it takes no spare, no lent node and no other place, and does not start anew, until enough of its recoveries are an hour ago.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.ids import HOUR, Instant
from clusters.domain.job_events import NodeSwapped, SliceMoved
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState, Job
from scheduling.domain.terms import RECOVERY_BUDGET


def budget_spent(job: Job, policy: Policy, now: Instant, events: Iterable[Payload] = ()) -> Refusal | None:
    """Why the next slice of the job is not recovered; None where it may be. `events` are what this decision has for the job so far."""
    limit = policy.recoveries_per_hour
    counted = [*recent(job, now), *(now for event in events if is_recovery(event))]
    if not limit or len(counted) < limit:
        return None
    return Refusal(code=RECOVERY_BUDGET, counts={"limit": limit, "recoveries": len(counted), "until": counted[-limit] + HOUR})


def recent(job: Job, now: Instant) -> list[Instant]:
    """When lost nodes of the job were replaced in the last hour, the oldest first."""
    return job.recoveries[bisect_right(job.recoveries, now - HOUR) :]


def is_recovery(event: Payload) -> bool:
    """Whether the event replaces lost nodes of its job: a slice that is moved to make room for others may lack none."""
    return isinstance(event, NodeSwapped) or (isinstance(event, SliceMoved) and bool(event.lost))


def is_told(job: Job, refusal: Refusal) -> bool:
    """Whether a stalled job has been told so already: a budget anew where it is another, or ends at another time."""
    same = ("limit", "until") if refusal.code == RECOVERY_BUDGET else ()
    return job.blocked == refusal.code and all(job.counts.get(key) == refusal.counts[key] for key in same)


def holds_for_budget(job: Job) -> bool:
    """Whether a stalled job has been told that it holds: room is not what it lacks."""
    return job.blocked == RECOVERY_BUDGET


def budget_deadlines(state: ClusterState) -> Iterator[Instant]:
    """When jobs that lack nodes may have them replaced again."""
    limit = state.policy.recoveries_per_hour
    for name in state.lost if limit else ():
        recoveries = state.jobs[name].recoveries
        if len(recoveries) >= limit:
            yield recoveries[-limit] + HOUR

"""What a request names beside space: its class, the jobs it is to follow, its team's quota. Checked when it is submitted."""

from __future__ import annotations

from clusters.domain.decision import Refusal
from clusters.domain.ids import LAST_INSTANT
from clusters.domain.jobs import JobRequest, JobState
from clusters.domain.state import ClusterState
from scheduling.domain.quotas import gpus_asked, never_within


def not_admitted(state: ClusterState, request: JobRequest) -> Refusal | None:
    """Why the request cannot be taken; None where it can."""
    return _too_late(request) or _unknown_class(state, request) or _wrong_order(state, request) or _beyond_quota(state, request)


def _too_late(request: JobRequest) -> Refusal | None:
    if request.not_before is None or 0 <= request.not_before <= LAST_INSTANT:
        return None
    return _invalid("not_before", request.not_before, "give a time before the year 2200")


def _unknown_class(state: ClusterState, request: JobRequest) -> Refusal | None:
    names = [known.name for known in state.policy.classes]
    if not request.priority_class or request.priority_class in names:
        return None
    return _invalid("priority_class", request.priority_class, f"give one of: {', '.join(names)}")


def _wrong_order(state: ClusterState, request: JobRequest) -> Refusal | None:
    for name in request.after:
        job = state.jobs.get(name)
        outcome = state.ended.get(name) if job is None else job.state
        if outcome is None:
            return _invalid("after", name, "name a job of this cluster that has not ended long ago")
        if outcome in (JobState.FAILED, JobState.CANCELLED):
            return _invalid("after", name, f"it has {outcome} and will never finish; leave it out")
    return None


def _beyond_quota(state: ClusterState, request: JobRequest) -> Refusal | None:
    asked = gpus_asked(request, state.topology.usual_gpus)
    most = never_within(state.policy, request.team, asked)
    if most is None:
        return None
    field, value = ("nodes", request.nodes) if request.nodes is not None else ("gpus", request.gpus or 0)
    return _invalid(field, value, f"team {request.team or '*'} may have at most {most} GPUs, borrowed ones included")


def _invalid(field: str, value: int | str | None, expected: str) -> Refusal:
    counts: dict[str, int | str] = {"expected": expected, "field": field, "value": value if value is not None else ""}
    return Refusal(code="invalid", message=f"{field}: {expected}", counts=counts)

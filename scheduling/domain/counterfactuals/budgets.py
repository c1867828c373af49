"""What lets a job go on that holds because its lost nodes were replaced too often of late: time, or a higher limit; no room would."""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.decision import Refusal
from clusters.domain.job_events import NodeSwapped, SliceMoved
from clusters.domain.setting import MAX_RECOVERIES
from scheduling.domain.counterfactuals.question import Counterfactual, Kind, Question
from scheduling.domain.counterfactuals.requests import under
from scheduling.domain.recovery import recover_job
from scheduling.domain.recovery_budget import is_recovery, recent
from scheduling.domain.stalls import stalled_now
from scheduling.domain.terms import RECOVERY_BUDGET
from scheduling.domain.wording import about


def spent_budget(question: Question) -> Refusal | None:
    """The refusal of a job that would hold with the next pass; None where it is stalled for want of room."""
    refusal = stalled_now(question.fork(), question.job)
    return refusal if refusal is not None and refusal.code == RECOVERY_BUDGET else None


def recoveries_past(question: Question) -> Counterfactual | None:
    """Enough of its recoveries were an hour ago."""
    spent = spent_budget(question)
    if spent is None or not question.starts(at=int(spent.counts["until"])):
        return None
    at = int(spent.counts["until"])
    text = f"it goes on in about {about(at - question.now)}, when enough of its recoveries are an hour ago"
    return Counterfactual(kind=Kind.TIME, text=text, params={"not_before": at}, at=at)


def higher_limit(question: Question) -> Counterfactual | None:
    """The least limit under which all of its slices are made whole now."""
    policy, name = question.state.policy, "recoveries_per_hour"
    unlimited = question.fork(under(replace(policy, recoveries_per_hour=0)))
    slices = [
        event.slice
        for event in recover_job(unlimited, question.job).events
        if isinstance(event, NodeSwapped | SliceMoved) and is_recovery(event)
    ]
    before = [number for number in slices if number != slices[-1]]  # a slice that begins under the limit may go beyond it
    least = len(recent(question.job, question.now)) + len(before) + 1
    value = least if least <= MAX_RECOVERIES else 0
    if not question.starts(under(replace(policy, recoveries_per_hour=value))):
        return None
    text = f"{question.would} if the policy's {name} were {value} instead of {policy.recoveries_per_hour}"
    return Counterfactual(kind=Kind.POLICY, text=text, params={"setting": name, "value": value})

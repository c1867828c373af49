"""What the job could ask for instead, and would get now; and which setting of the policy keeps it waiting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from clusters.domain.decision import Refusal
from clusters.domain.disruption import age_of_work
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from scheduling.domain.counterfactuals.question import Change, Counterfactual, Kind, Question
from scheduling.domain.preemption import gpus_held
from scheduling.domain.shape import may_borrow, shape_of
from scheduling.domain.trial import Trial
from scheduling.domain.wording import in_gpu_hours, many

#: Sizes tried from the largest on, and as many again at most between two of them.
MOST_SIZES = 64


def smaller_slices(question: Question) -> Counterfactual | None:
    """The largest smaller slice with which the job would start now."""
    largest = _largest_slice(question, question.request)
    if not largest or question.request.parts:
        return None
    trial = question.settled
    while largest > 1:
        wanted = _variant(question.request, max_slice=largest - 1)
        largest = _largest_slice(question, wanted) if wanted is not None else 0
        if wanted is not None and largest and question.fits_in(trial, wanted):
            text = f"it would start {_when(question)} if a slice were {many(largest, 'node')}"
            return Counterfactual(kind=Kind.SLICE, text=text, params={"max_slice": largest}, cost_gpu_hours=_lost(question))
    return None


def _largest_slice(question: Question, request: JobRequest) -> int:
    """Nodes of the largest slice that the request is cut into; 0 where it is not cut, or cannot be."""
    shape = shape_of(question.state.topology, request, question.state.policy)
    return 0 if isinstance(shape, Refusal) or shape.gpus else max(shape.sizes)


def less(question: Question) -> Counterfactual | None:
    """The most nodes, or GPUs of one, with which the job would start now."""
    request = question.request
    if request.parts or request.plan is not None:
        return None  # parts and plans have sizes of their own
    field = "nodes" if request.nodes is not None else "gpus"
    unit = 1 if request.tail or field == "gpus" else request.slice_size or 1
    amount = unit * _most(question, field, unit, -(-(request.nodes or request.gpus or 0) // unit))
    if not amount:
        return None
    words = many(amount, "node" if field == "nodes" else "GPU")
    text = f"it would start {_when(question)} with {words}"
    return Counterfactual(kind=Kind.SIZE, text=text, params={field: amount}, cost_gpu_hours=_lost(question))


def _when(question: Question) -> str:
    return "anew now" if question.stalled else "now"


def _lost(question: Question) -> float | None:
    """What it costs a job that runs to be submitted anew."""
    return in_gpu_hours(gpus_held(question.state, question.job) * age_of_work(question.job, question.now)) if question.stalled else None


def _most(question: Question, field: str, unit: int, asked: int) -> int:
    """The most units below those asked for that would start now: 24 nodes may have room where 20 have not, so each number is tried.

    Of large numbers only some are: then those between the first that does and the next larger one that does not.
    """
    trial = question.settled

    def first(candidates: range) -> int:
        for units in candidates:
            wanted = _variant(question.request, **{field: units * unit})
            if wanted is not None and question.fits_in(trial, wanted):
                return units
        return 0

    step = -(-asked // MOST_SIZES)
    found = first(range(asked - 1, 0, -step))
    return first(range(min(asked, found + step) - 1, found, -1)) or found


def lower_settings(question: Question) -> Counterfactual | None:
    """The spares that the policy keeps, as far as they must be fewer for the job to start; or that they are lent."""
    now = question.state.policy
    lent = replace(now, lending=True)
    if not now.lending and not question.stalled and may_borrow(lent, question.request) and question.starts(under(lent)):
        text = f"{question.would} if the policy's lending were on: then spares are lent to restartable work"
        return Counterfactual(kind=Kind.POLICY, text=text, params={"setting": "lending", "value": True})
    for setting, value, policy in _lowered(now):
        if question.fits(under(policy)) and question.starts(under(policy)):
            text = f"{question.would} if the policy's {setting} were {value} instead of {getattr(now, setting)}"
            return Counterfactual(kind=Kind.POLICY, text=text, params={"setting": setting, "value": value})
    return None


def _lowered(policy: Policy) -> Iterator[tuple[str, int, Policy]]:
    """Each setting that keeps nodes free, one less at a time."""
    for value in range(policy.min_spares - 1, -1, -1):
        yield "min_spares", value, replace(policy, min_spares=value)
    for value in range(policy.target_spares - 1, policy.min_spares - 1, -1):
        yield "target_spares", value, replace(policy, target_spares=value)


def under(policy: Policy) -> Change:
    """Another policy holds."""

    def change(trial: Trial) -> None:
        trial.policy = policy

    return change


def _variant(request: JobRequest, **changed: int) -> JobRequest | None:
    """The request changed in one field; None where that makes no sense."""
    try:
        return replace(request, **changed)  # type: ignore[arg-type]
    except InvalidRequest:
        return None

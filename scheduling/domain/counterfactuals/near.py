"""How far a domain is from holding one more slice of the job: what candidates are found by, before any of them is tried."""

from __future__ import annotations

from clusters.domain.decision import Refusal
from scheduling.domain.counterfactuals.question import Question
from scheduling.domain.shape import Shape, shape_of, slice_shape


def whole_shape(question: Question) -> Shape | None:
    """The shape of what has no place: a request for whole nodes, or a slice of it. Work below a node makes no room by domains."""
    state, job = question.state, question.job
    if question.stalled:
        size = next(len(part.nodes) for part in job.slices if part.lost)
        return None if job.slices[0].gpus else slice_shape(state.topology, question.request, state.policy, size)
    shape = shape_of(state.topology, question.request, state.policy)
    return None if isinstance(shape, Refusal) or shape.gpus else shape


def lacking(question: Question, shape: Shape, domain: int, more: int = 0) -> int:
    """Nodes that must still come free in the domain, beside so many `more`, for one more slice to fit, or one to be whole again."""
    space, policy = question.state.space, question.state.policy
    count = space.count[domain] + more
    kept = min(space.target(domain, policy), count) if shape.small else 0
    whole = min(shape.sizes) + max(shape.floor, kept)
    name = question.state.topology.domains[domain].name
    lost = [len(part.lost) for part in question.job.slices if part.lost and part.domain == name] if question.stalled else []
    return min([whole, *lost]) - count

"""What would become of a request that nobody has submitted yet, by the engine that would decide it."""

from __future__ import annotations

import msgspec

from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.state import ClusterState
from frontend.selectors.clusters import now_of
from scheduling.domain.admission import not_admitted
from scheduling.domain.feasibility import preview
from scheduling.domain.parallelism.advice import better_slice
from scheduling.domain.parallelism.cluster import fleet_of
from scheduling.domain.refusals import explain
from scheduling.domain.trial import Trial
from scheduling.domain.waiting import would_wait


class Forecast(msgspec.Struct, frozen=True):
    """How a request would be cut, and whether there is room for it now."""

    slices: tuple[int, ...]  # nodes of each slice, larger first; empty for work below a node
    gpus: int  # of one node, for work below a node; else 0
    fits_now: bool  # there is room, and its team may have so much; jobs before it in the queue may still take it
    code: str  # why it would wait; "" where it fits now
    counts: dict[str, int | str]  # the reasons in numbers, as for a job that waits
    text: str


def forecast(state: ClusterState, request: JobRequest) -> Forecast | Refusal:
    """The slices a request would get; refused where it could never be placed. The caller holds the state."""
    cut = not_admitted(state, request) or preview(state, request)
    if isinstance(cut, Refusal):
        return cut
    wait = would_wait(Trial(state, now_of(state)), request)
    now = f"would wait now: {explain(wait)}" if wait else "there is room now"
    text = f"{cut.text}; {now}{_better(state, request, cut.slices)}"
    return Forecast(cut.slices, cut.gpus, wait is None, wait.code if wait else "", dict(wait.counts) if wait else {}, text)


def _better(state: ClusterState, request: JobRequest, slices: tuple[int, ...]) -> str:
    """What would suit its plan better, where something would."""
    hint = better_slice(request.plan, fleet_of(state), slices) if request.plan and slices and not request.parts else ""
    return f"; {hint}" if hint else ""

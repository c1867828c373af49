"""From a trace to the jobs that a fleet will submit.

The load is the GPU-hours that the whole file asks for, divided by all GPU-hours of the inventory over the file's span. To offer another
load, times of submission are stretched or drawn together; durations stay as they are. Of that, the first days are kept. What could never
run on the inventory is left out, and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.ids import DAY, SECOND
from clusters.domain.inventory_events import Arrival
from clusters.domain.jobs import JobRequest
from clusters.domain.state import ClusterState
from scheduling.domain.feasibility import could_never_fit, whole_space
from scheduling.simulator.traces import Trace, TraceJob


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePlan:
    """What a trace becomes on a cluster."""

    items: tuple[Arrival, ...]
    own_load: float  # of the file as it is
    stretch: float  # that times of submission were multiplied by
    refused: dict[str, int]  # "N nodes: why" -> jobs left out


def plan_trace(state: ClusterState, trace: Trace, *, load: float | None = None, days: float | None = None) -> TracePlan:
    """Fit the trace to the cluster; without `load` it is played as it is, without `days` to its end."""
    gpus = sum(site.gpus for site in state.topology.nodes)
    own = trace.gpu_seconds / (gpus * trace.span_s)
    stretch = own / load if load is not None else 1.0
    items: list[Arrival] = []
    refused: Counter[str] = Counter()
    reasons: dict[tuple[int | None, int | None], str] = {}
    whole = whole_space(state)
    for job in trace.jobs:
        offset = round(job.submit_s * stretch * SECOND)
        if days is not None and offset >= days * DAY:
            break
        request = request_of(job, state.topology.usual_gpus)
        asked = (request.nodes, request.gpus)
        if asked not in reasons:
            refusal = could_never_fit(whole, request, state.policy)
            reasons[asked] = _words(request, refusal) if refusal is not None else ""
        if reasons[asked]:
            refused[reasons[asked]] += 1
        else:
            items.append(Arrival(row=job.row, offset=offset, request=request, duration=job.duration_s * SECOND, outcome=job.outcome))
    return TracePlan(items=tuple(items), own_load=own, stretch=stretch, refused=dict(refused))


def request_of(job: TraceJob, gpus_per_node: int) -> JobRequest:
    """What a job of a trace asks for: GPUs of a node below a node's worth, else whole nodes."""
    below = job.gpus < gpus_per_node
    return JobRequest(
        name=job.name,
        kind=job.kind,
        nodes=None if below else -(-job.gpus // gpus_per_node),
        gpus=job.gpus if below else None,
        team=job.team,
    )


def _words(request: JobRequest, refusal: Refusal) -> str:
    size = f"{request.gpus} GPUs" if request.nodes is None else f"{request.nodes} nodes"
    return f"{size}: {refusal.message}"

"""From a trace to the jobs that a fleet will submit.

The load is the GPU-hours that the whole file asks for, divided by all GPU-hours of the inventory over the file's span. To offer another
load, times of submission are stretched or drawn together; durations stay as they are. Of that, the first days are kept. What could never
run on the inventory is left out, and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from clusters.domain.clock import MAX_SPEED
from clusters.domain.decision import Refusal
from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import DAY, SECOND
from clusters.domain.inventory_events import Arrival
from clusters.domain.jobs import JobRequest
from clusters.domain.state import ClusterState
from scheduling.domain.feasibility import could_never_fit, whole_space
from scheduling.simulator.traces import Trace, TraceJob

#: Of a plan: longer than any trace that is known, short enough to keep instants in 63 bits.
MAX_DAYS = 10_000
#: A hundred times what the inventory can serve.
MAX_LOAD = 100.0
#: Speed, load and days below it are slips.
LEAST = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePlan:
    """What a trace becomes on a cluster."""

    items: tuple[Arrival, ...]
    own_load: float  # of the file as it is
    stretch: float  # that times of submission were multiplied by
    refused: dict[str, int]  # "N nodes: why" -> jobs left out


def check_options(*, speed: float, load: float | None = None, days: float | None = None) -> None:
    """Refuse what cannot be played; raises InvalidRequest."""
    for name, value, most in (("speed", speed, MAX_SPEED), ("load", load, MAX_LOAD), ("days", days, MAX_DAYS)):
        if value is not None and not LEAST <= value <= most:
            raise InvalidRequest(name, value, f"give a number from {LEAST:g} to {most:g}")


def plan_trace(state: ClusterState, trace: Trace, *, load: float | None = None, days: float | None = None) -> TracePlan:
    """Fit the trace to the cluster; without `load` it is played as it is, without `days` to its end. Raises InvalidRequest."""
    gpus = sum(site.gpus for site in state.topology.nodes)
    own = trace.gpu_seconds / max(1, gpus * trace.span_s)
    stretch = own / load if load is not None else 1.0
    items: list[Arrival] = []
    refused: Counter[str] = Counter()
    reasons: dict[tuple[int | None, int | None], str] = {}
    whole = whole_space(state)
    for job in trace.jobs:
        day = job.submit_s * stretch * SECOND / DAY
        if days is not None and day >= days:
            break
        if day > MAX_DAYS:
            raise InvalidRequest("load", load, f"give more, or fewer days: at this load jobs would come for over {MAX_DAYS:,} days")
        offset = round(job.submit_s * stretch * SECOND)
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

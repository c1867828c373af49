"""The demo's users: a made-up mix of jobs that keeps a large cluster as full as its spares allow.

Sizes and times follow what large clusters publish: most jobs are small and short (evaluation, debugging), most GPU-time is in few large
training runs, and times are lognormal over several orders of magnitude. The loop is closed: another job is submitted while fewer than
WAITING wait. Of those only so many may be large, since large jobs that wait would crowd out the small ones that fill gaps; and when a huge
one has waited for long, its users hold back other large jobs until it has started.

Every draw depends on the seed and the job's number. Jobs submitted in the first hour are found running already: part of their time has
passed, so that they do not all end together.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import accumulate

from clusters.connectors.base import Work
from clusters.connectors.simulated.chance import exponential, lognormal, uniform
from clusters.connectors.simulated.options import FleetOptions
from clusters.connectors.simulated.truth import CANCELLED, FAILED, FINISHED, Truth
from clusters.domain.ids import HOUR, MINUTE, Duration, Instant
from clusters.domain.jobs import JobKind, JobRequest, Recovery

#: Jobs that wait at any time.
WAITING = 30

#: Of these, at most so many of a slice or more, and of several racks.
LARGE_WAITING = 12
HUGE_WAITING = 4

LARGE_NODES = 16
HUGE_NODES = 64

#: Submissions after which the others make room for a huge job that still waits.
PATIENCE = 700

#: The first submissions come at once: they fill the empty cluster.
OPENING = 250

#: Mean time between two submissions while more jobs are wanted.
PAUSE = 2 * MINUTE

#: What was submitted so soon after the start is taken for work that the cluster was running already.
FIRST = HOUR

TEAMS = ("atlas", "borealis", "cobalt", "delta", "ember", "fjord", "gale", "harbor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """One sort of jobs of the mix."""

    name: str
    kind: JobKind
    share: float  # of all jobs
    sizes: tuple[tuple[float, int, int], ...]  # (share, nodes, GPUs): whole nodes, or GPUs of one
    median_h: float
    sigma: float
    outcomes: tuple[float, float]  # shares of finished and failed; the rest is cancelled by its user
    checkpoint_s: int | None = None


MIX: tuple[Sort, ...] = (
    Sort(
        name="eval",
        kind=JobKind.BATCH,
        share=0.40,
        sizes=((0.50, 0, 1), (0.15, 0, 2), (0.25, 1, 0), (0.10, 2, 0)),
        median_h=1.0,
        sigma=1.0,
        outcomes=(0.75, 0.20),
    ),
    Sort(
        name="notebook",
        kind=JobKind.INTERACTIVE,
        share=0.14,
        sizes=((0.50, 0, 1), (0.25, 0, 2), (0.25, 1, 0)),
        median_h=3.0,
        sigma=0.7,
        outcomes=(0.60, 0.05),
    ),
    Sort(
        name="serve",
        kind=JobKind.INFERENCE,
        share=0.06,
        sizes=((0.30, 1, 0), (0.30, 2, 0), (0.40, 4, 0)),
        median_h=36.0,
        sigma=0.6,
        outcomes=(0.50, 0.05),
    ),
    Sort(
        name="finetune",
        kind=JobKind.TRAINING,
        share=0.17,
        sizes=((0.30, 2, 0), (0.35, 4, 0), (0.35, 8, 0)),
        median_h=6.0,
        sigma=0.8,
        outcomes=(0.70, 0.20),
        checkpoint_s=1800,
    ),
    Sort(
        name="pretrain",
        kind=JobKind.TRAINING,
        share=0.20,
        sizes=((0.45, 16, 0), (0.10, 24, 0), (0.25, 32, 0), (0.08, 48, 0), (0.12, 64, 0)),
        median_h=14.0,
        sigma=0.8,
        outcomes=(0.55, 0.20),
        checkpoint_s=1800,
    ),
    Sort(
        name="frontier",
        kind=JobKind.TRAINING,
        share=0.03,
        sizes=((0.75, 128, 0), (0.25, 256, 0)),
        median_h=30.0,
        sigma=0.6,
        outcomes=(0.50, 0.15),
        checkpoint_s=900,
    ),
)


class DemoUsers:
    """See arrivals.Generator."""

    name = "demo"

    def __init__(self, options: FleetOptions, started_at: Instant) -> None:
        self._seed = options.seed
        self._started_at = started_at

    def wants(self, waiting: Collection[Work]) -> bool:
        return len(waiting) < WAITING

    def pause(self, number: int) -> Duration:
        return 0 if number < OPENING else round(exponential(self._u("pause", number), PAUSE))

    def request(self, number: int, waiting: Collection[Work]) -> JobRequest:
        sort, nodes, gpus = self._drawn(number, waiting)
        team = TEAMS[int(self._u("team", number) * len(TEAMS))]
        return JobRequest(
            name=f"{sort.name}-{number:05d}",
            kind=sort.kind,
            nodes=nodes or None,
            gpus=gpus or None,
            team=team,
            restartable=sort.kind is not JobKind.INTERACTIVE,
            checkpoint_interval_s=sort.checkpoint_s,
            recovery=Recovery.PEER if self._u("recovery", number) < 0.3 and sort.checkpoint_s else Recovery.CHECKPOINT,
        )

    def truth(self, number: int, request: JobRequest, submitted_at: Instant) -> Truth:
        sort = next(sort for sort in MIX if request.name.startswith(sort.name))
        duration = lognormal(self._u("duration", number), sort.median_h * HOUR, sort.sigma)
        if submitted_at - self._started_at < FIRST:
            duration *= self._u("age", number)
        finished, failed = sort.outcomes
        u = self._u("outcome", number)
        outcome = FINISHED if u < finished else FAILED if u < finished + failed else CANCELLED
        return Truth(duration=max(MINUTE, round(duration)), outcome=outcome)

    def _drawn(self, number: int, waiting: Collection[Work]) -> tuple[Sort, int, int]:
        sizes = [work.request.nodes or 0 for work in waiting]
        room = sum(size >= LARGE_NODES for size in sizes) < LARGE_WAITING and not _impatient(number, waiting)
        huge = sum(size >= HUGE_NODES for size in sizes) < HUGE_WAITING
        for attempt in range(100):
            sort = MIX[_pick([sort.share for sort in MIX], self._u("sort", number, attempt))]
            _, nodes, gpus = sort.sizes[_pick([share for share, _, _ in sort.sizes], self._u("size", number, attempt))]
            if (nodes < LARGE_NODES or room) and (nodes < HUGE_NODES or huge):
                break
        return sort, nodes, gpus

    def _u(self, *key: str | int) -> float:
        return uniform(self._seed, "demo", *key)


def _impatient(number: int, waiting: Collection[Work]) -> bool:
    return any(
        (work.request.nodes or 0) >= HUGE_NODES and work.arrival and number - int(work.arrival.rpartition(":")[2]) > PATIENCE
        for work in waiting
    )


def _pick(shares: list[float], u: float) -> int:
    """The index whose share of the total `u` falls into."""
    upto = list(accumulate(shares))
    return next((index for index, total in enumerate(upto) if u * upto[-1] < total), len(shares) - 1)

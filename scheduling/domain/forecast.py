"""When and where a waiting job can start, once work that runs has ended: what reservations are made from.

Nodes come free one job after the other, at the planned ends of the jobs that have them, and each end only adds room. So the earliest start
is found by halving over the ends, and what is tried at each is the placement itself: the answer is when a set of domains has room for the
job, not when enough nodes are free. Nodes kept for other jobs count as taken until those jobs, too, have ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from clusters.domain.decision import Refusal
from clusters.domain.dense import wanting_slices
from clusters.domain.exclusive import closed_by
from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest
from clusters.domain.space import Space
from clusters.domain.state import Job, Slice
from scheduling.domain.limits import LAUNCH, STOP, planned_end, run_time
from scheduling.domain.placement import Placement
from scheduling.domain.views import Closure, Masks, masks_of

if TYPE_CHECKING:
    from scheduling.domain.trial import Trial

#: After everything else.
NEVER: Instant = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What comes free at one time, all at once."""

    at: Instant
    job: str
    masks: Masks  # whole nodes
    gpus: tuple[tuple[int, int], ...] = ()  # (node, mask of its GPUs)
    wants: tuple[int, ...] = ()  # domains that owe spares for it, once for each slice
    spares: int | None = None  # as many
    opens: int = 0  # mask of the domains that it shared with no other work


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The earliest start that can be promised."""

    starts_at: Instant
    nodes: tuple[str, ...]
    last: str  # the job whose end it waits for


class Ends:
    """The ends of all work that has nodes, looked up once for a decision. What comes free is worked out where it is asked for."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._known = trial.releases

    def before(self, end: Instant | None) -> list[Release]:
        """What comes free before that time, in no order; all of it where there is none."""
        trial = self._trial
        running = [self._of(job, at) for at, job in self._running if end is None or at < end]
        placed = (_of_placement(trial, request, placement) for request, placement in trial.taken)
        return [*running, *(release for release in placed if end is None or release.at < end)]

    @cached_property
    def _running(self) -> list[tuple[Instant, Job]]:
        trial = self._trial
        return [(_end_of(trial, job), job) for job in trial.state.holders.values() if job.id not in trial.left]

    def of(self, job: Job) -> Release:
        """What comes free when the job, which has nodes, ends."""
        return self._of(job, _end_of(self._trial, job))

    def _of(self, job: Job, at: Instant) -> Release:
        release = self._known.get(job.id)
        if release is None:
            release = self._known[job.id] = _of_job(self._trial, job, at)
        return release if release.at == at else replace(release, at=at)


def _order(release: Release) -> tuple[Instant, str]:
    return release.at, release.job


def earliest_start(trial: Trial, job: Job, before: Instant | None = None, *, behind: bool = True) -> Outlook | None:
    """When the job can start at the earliest, and where; None where no end of other work helps, or none before that instant.

    What jobs `behind` it were promised may be left out of account; then it may be that nothing else has to end.
    """
    future = _Future(trial, job, before, behind=behind)
    ends = future.releases
    if not behind and not isinstance(at_once := future.after(0), Refusal):
        return Outlook(starts_at=trial.now, nodes=_nodes_of(at_once), last="")
    if not ends or isinstance(future.after(len(ends)), Refusal):
        return None
    low, high = 0, len(ends)  # refused after `low` ends, placed after `high`
    future.base(0)
    while high - low > 1:
        middle = (low + high) // 2
        if isinstance(future.after(middle), Refusal):
            low = middle
            future.base(low)
        else:
            high = middle
    placement = future.after(high)
    if isinstance(placement, Refusal):
        return None
    return Outlook(starts_at=ends[high - 1].at, nodes=_nodes_of(placement), last=ends[high - 1].job)


def _nodes_of(placement: Placement) -> tuple[str, ...]:
    return tuple(name for assignment in placement for name in assignment.nodes)


class _Future:
    """The job's view of the space after so many ends."""

    def __init__(self, trial: Trial, job: Job, before: Instant | None, *, behind: bool) -> None:
        self._trial = trial
        self._request = job.request
        mask = trial.views.closed_for_good(job, behind=behind)
        self._given = 0
        self._space = trial.views.space(mask).fork()
        for closure in trial.views.closures(mask):  # their domains are going to owe spares, too: not to be promised to work below a slice
            for domain in _wanted_by(closure):
                self._space.add_want(domain, closure.job.request.spares if closure.job else None)
        self.releases: Sequence[Release] = sorted(_with_closures(trial, mask, before), key=_order)

    def base(self, count: int) -> None:
        """What is tried from now on comes after these ends."""
        self._give(self._space, count)
        self._given = count

    def after(self, count: int) -> Placement | Refusal:
        """Where the job runs after the first ends."""
        space = self._space.fork()
        self._give(space, count)
        return self._trial.place_in(space, self._request)

    def _give(self, space: Space, count: int) -> None:
        for release in self.releases[self._given : count]:
            give(space, release)


def give(space: Space, release: Release) -> None:
    """The work has ended."""
    for domain, mask in release.masks.items():
        space.give_mask(domain, mask)
    for node, gpus in release.gpus:
        space.give_gpus(node, gpus)
    for domain in release.wants:
        if release.spares in space.wants[domain]:  # else it has moved away in this very decision
            space.drop_want(domain, release.spares)
    space.closed &= ~release.opens


def _with_closures(trial: Trial, mask: int, before: Instant | None) -> Iterable[Release]:
    """All ends, those of jobs included that nodes are kept for. A node comes free with the last of all who have it or were promised it."""
    releases = trial.ends.before(before)
    if not mask:
        return releases
    promised = [_of_closure(trial, closure) for closure in trial.views.closures(mask)]
    closed: dict[int, int] = {}
    for release in promised:
        _add(closed, release.masks)
    met: list[Release] = []
    beside: list[Release] = []
    for release in releases:
        (met if _meets(trial.space, release, closed) else beside).append(release)
    held = _held_on(trial.space, met, closed)
    promised += [_whole(trial.space, release) for release in met]
    return [*beside, *_last_ones(promised, held, NEVER if before is None else before)]


def _last_ones(releases: list[Release], held: dict[int, int], before: Instant) -> Iterator[Release]:
    """The releases before that time, each with its nodes that nobody has for longer; `held` are in use until after them all."""
    for release in sorted(releases, key=_order, reverse=True):
        rest = {domain: mask & ~held.get(domain, 0) for domain, mask in release.masks.items()}
        _add(held, release.masks)
        if release.at < before:
            yield replace(release, masks=rest)


def _of_closure(trial: Trial, closure: Closure) -> Release:
    if closure.job is None:
        return Release(at=over(trial, closure), job="", masks=closure.masks)
    spares = closure.job.request.spares
    return Release(at=over(trial, closure), job=closure.job.id, masks=closure.masks, wants=_wanted_by(closure), spares=spares)


def _wanted_by(closure: Closure) -> tuple[int, ...]:
    """The domains that will owe spares while the job runs for which nodes are kept."""
    return tuple(closure.masks) if closure.job is not None and sum(map(int.bit_count, closure.masks.values())) > 1 else ()


def _held_on(space: Space, releases: Iterable[Release], masks: Masks) -> dict[int, int]:
    """Which of the nodes stay in use beyond these releases."""
    free: dict[int, int] = {}
    left: dict[int, int] = {}
    for release in releases:
        _add(free, release.masks)
        for node, gpus in release.gpus:
            left[node] = left.get(node, space.gpus_left(node)) | gpus
    for node, gpus in left.items():
        if gpus == (1 << space.topology.nodes[node].gpus) - 1:
            _add(free, dict([space.locate(node)]))
    return {domain: mask & space.used[domain] & ~free.get(domain, 0) for domain, mask in masks.items()}


def _whole(space: Space, release: Release) -> Release:
    """The release with whole nodes in place of GPUs: of nodes that somebody was promised, all or nothing comes free."""
    if not release.gpus:
        return release
    return replace(release, masks=dict(space.locate(node) for node, _ in release.gpus), gpus=())


def _meets(space: Space, release: Release, masks: Masks) -> bool:
    return any(mask & masks.get(domain, 0) for domain, mask in _whole(space, release).masks.items())


def _add(masks: dict[int, int], more: Masks) -> None:
    for domain, mask in more.items():
        masks[domain] = masks.get(domain, 0) | mask


def over(trial: Trial, closure: Closure) -> Instant:
    """When nobody needs the nodes of the closure any more."""
    if closure.job is None:
        return NEVER
    return max(closure.until, trial.now) + LAUNCH + run_time(closure.job.request, trial.policy) + STOP


def _of_job(trial: Trial, job: Job, at: Instant) -> Release:
    space, topology = trial.space, trial.topology
    share = trial.state.nodes[first].shares.get(job.id) if (first := next(iter(job.held_nodes), "")) else None
    gpus = () if share is None else ((topology.index[first], share),)  # work below a node has one
    return Release(
        at=at,
        job=job.id,
        masks={} if gpus else masks_of(space, job.held_nodes),
        gpus=gpus,
        wants=tuple(topology.domain_index[part.domain] for part in _wanting(trial, job)),
        spares=job.request.spares,
        opens=closed_by(trial.state, job, topology) if job.request.exclusive else 0,
    )


def _end_of(trial: Trial, job: Job) -> Instant:
    if job.holders_stop or job.id in trial.stopping:
        return trial.now + STOP
    return planned_end(job, trial.policy, trial.now)


def _wanting(trial: Trial, job: Job) -> list[Slice]:
    return [job.slices[number] for number in wanting_slices(job) if job.slices[number].domain in trial.topology.domain_index]


def _of_placement(trial: Trial, request: JobRequest, placement: Placement) -> Release:
    """A job that this very decision has placed."""
    topology = trial.topology
    names = [name for part in placement for name in part.nodes]
    gpus = placement[0].gpus
    return Release(
        at=trial.now + LAUNCH + run_time(request, trial.policy) + STOP,
        job="",
        masks={} if gpus else masks_of(trial.space, names),
        gpus=((topology.index[names[0]], sum(1 << gpu for gpu in gpus)),) if gpus else (),
        wants=tuple(topology.domain_index[part.domain] for part in placement) if len(names) > 1 else (),
        spares=request.spares,
        opens=sum({1 << topology.domain_index[part.domain] for part in placement}) if request.exclusive else 0,
    )

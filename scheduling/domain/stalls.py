"""What a job lacks of which a slice has lost nodes and has no place: which slice, how many nodes, and where it comes nearest to a place."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.domain.decision import Refusal
from clusters.domain.exclusive import closed_by
from clusters.domain.jobs import JobState
from clusters.domain.state import Job
from scheduling.domain.recovery import reach, recovered
from scheduling.domain.rooms import Rooms
from scheduling.domain.shape import slice_shape
from scheduling.domain.terms import RECOVERY_BUDGET
from scheduling.domain.tethers import tether
from scheduling.domain.trial import Trial

#: Domains that are named for a slice.
MOST_DOMAINS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortSlice:
    """One slice that lacks nodes."""

    slice: int
    nodes: int  # of the whole slice
    missing: int
    domain: str  # where it is
    free: int  # nodes there that it could have
    best: tuple[tuple[str, int], ...]  # (domain, nodes there that it could have) elsewhere, the most first


def is_stalled(job: Job) -> bool:
    """Whether the job runs, and a slice of it lacks nodes and has no place."""
    return job.state is JobState.STALLED and bool(job.lost_slots)


def stalled_now(trial: Trial, job: Job) -> Refusal | None:
    """Why the first of its slices has no place, once more urgent jobs that lack nodes have had theirs; None where it gets one."""
    for other, found in recovered(trial.fork()):
        if other is job and found.lacks is not None:
            number, refusal = found.lacks
            if refusal.code == RECOVERY_BUDGET:
                return refusal
            return _told(short_slice(trial, job, number), trial.reasons(refusal))
    return None


def short_slices(trial: Trial, job: Job) -> tuple[ShortSlice, ...]:
    """All of its slices that lack nodes."""
    return tuple(short_slice(trial, job, number) for number, part in enumerate(job.slices) if part.lost)


def short_slice(trial: Trial, job: Job, number: int) -> ShortSlice:
    """What the slice lacks."""
    part, topology = job.slices[number], trial.topology
    home = topology.domain_index.get(part.domain)
    free = 0
    if home is not None and not part.gpus:
        kept = trial.space.owed(home, trial.policy) if job.width == 1 else 0
        free = max(0, (trial.space.free[home] & reach(topology, job, part)).bit_count() - kept)
    best = () if part.gpus else tuple(_elsewhere(trial, job, number))
    return ShortSlice(slice=number, nodes=len(part.nodes), missing=len(part.lost), domain=part.domain, free=free, best=best)


def _elsewhere(trial: Trial, job: Job, number: int) -> list[tuple[str, int]]:
    """The domains in which the slice could have most nodes, of those that the job allows beside its other slices."""
    topology, part = trial.topology, job.slices[number]
    shape = slice_shape(topology, job.request, trial.policy, len(part.nodes))
    space = trial.views.space(trial.views.racks_closed_to(job.request))
    rooms = Rooms(space, shape, trial.policy, trial.recent, closed_by(trial.state, job, topology))
    allowed = tether(topology, job, number)
    if part.domain in topology.domain_index:
        allowed &= ~(1 << topology.domain_index[part.domain])
    found: list[tuple[int, int]] = []
    for nodes, _, domains in rooms.usable():
        rest = domains & allowed if nodes else 0
        for _ in range(MOST_DOMAINS):
            if rest:
                found.append((-nodes, (rest & -rest).bit_length() - 1))
                rest &= rest - 1
    return [(topology.domains[domain].name, -nodes) for nodes, domain in sorted(found)[:MOST_DOMAINS]]


def _told(short: ShortSlice, refusal: Refusal) -> Refusal:
    """The refusal of the slice elsewhere, with what it lacks where it is."""
    counts = {key: value for key, value in refusal.counts.items() if key not in ("best_domain", "best_free")}
    counts |= {"slice": short.slice, "missing": short.missing, "of": short.nodes, "home": short.domain, "home_free": short.free}
    if short.best:
        counts |= {"best_domain": short.best[0][0], "best_free": short.best[0][1]}
    return Refusal(code=refusal.code, message=refusal.message, counts=dict(sorted(counts.items())))

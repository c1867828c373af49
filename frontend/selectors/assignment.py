"""The assignment of a job: which node has which slot and rank, and what changed since a generation that its worker knows.

Slots and the generations at which they got their nodes are read from the job's own events, so that this can be told of any job, and since
any generation; which of them are without a node now is read from the state. All workers of a job ask at the same moment, and a long job has
told much by then: what was read of it is kept, and only what is new is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from clusters.domain import job_events as ev
from clusters.domain.errors import UnknownSubject
from clusters.domain.events import Event
from clusters.domain.jobs import TERMINAL
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from frontend.selectors.clusters import reading
from frontend.selectors.life import life_of
from scheduling.domain.parallelism.ranks import Rank
from scheduling.launch.assignment import Launch, launch_now

#: (slice, slot).
Place = tuple[int, int]


class AssignedSlot(msgspec.Struct, frozen=True):
    """One slot of a job."""

    slice: int
    slot: int
    node: str | None  # none: it was lost, and is not replaced yet
    gpus: tuple[int, ...]  # of the only node, for work below a node; else empty = all
    rank: int  # of the node among the job's nodes; the same for as long as the job keeps its slices
    gpu_rank: int  # of its first GPU among all of the job's
    new: bool  # it got its node after the generation that was asked about


class Assignment(msgspec.Struct, frozen=True):
    """Where a job runs."""

    job: str
    generation: int
    state: str
    over: bool  # the job has ended: there will be no other assignment
    slots: list[AssignedSlot]  # by rank
    stays: list[str]  # nodes that had their slot at the generation asked about
    came: list[str]  # nodes that did not
    left: list[str]  # nodes that had a slot then, and have none now
    checkpoint_step: int | None  # the last one reported


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What has a slot."""

    node: str
    gpus: tuple[int, ...]
    since: int  # generation


def assignment_of(cluster: str, name: str, after: int) -> tuple[Assignment, int]:
    """The assignment as it differs from the one of generation `after`, and the position that it was read at.

    Raises UnknownCluster, UnknownSubject.
    """
    with reading(cluster) as state:
        seq, job = state.seq, state.jobs.get(name)
        launch = launch_now(state, job) if job is not None else None
        epoch = live(cluster).position.epoch
        lost = set() if job is None else set(job.lost_slots)
        checkpoint = None if job is None or job.checkpoint_at is None else job.checkpoint_step
    events = _told(cluster, epoch, name, seq)
    life = life_of(events)
    now, before = places(events), places(events, after)
    over = life.state in TERMINAL
    held = {} if over else {place: known for place, known in now.items() if place not in lost}
    stays = sorted(known.node for known in held.values() if known.since <= after)
    came = sorted(known.node for known in held.values() if known.since > after)
    assignment = Assignment(
        job=name,
        generation=life.generation,
        state=(life.state if job is None else job.state).value,
        over=over,
        slots=_slots(launch, now, after) if isinstance(launch, Launch) and not over else [],
        stays=stays,
        came=came,
        left=sorted({known.node for known in before.values()} - {*stays, *came}),
        checkpoint_step=checkpoint,
    )
    return assignment, seq


#: Jobs of which what was read is kept.
MOST_KEPT = 256

_SAYING = (
    ev.JobSubmitted, ev.JobPlaced, ev.NodeSwapped, ev.SliceMoved, ev.JobRequeued, ev.JobFinished, ev.JobFailed, ev.JobCancelled,
)  # fmt: skip

_kept: OrderedDict[tuple[str, str], tuple[int, tuple[Event, ...]]] = OrderedDict()  # (epoch, job) -> position read up to, and what was read
_guard = threading.Lock()


def _told(cluster: str, epoch: str, name: str, seq: int) -> list[Event]:
    """The events up to a position that say where the job runs, its submission first; raises UnknownSubject."""
    key = epoch, name
    with _guard:
        upto, known = _kept.get(key, (0, ()))
    if upto < seq:
        news = (event for event in default_log().about(cluster, name, upto) if event.seq <= seq)
        known = (*known, *(event for event in news if isinstance(event.payload, _SAYING)))
        _keep(key, seq, known)
    if not known or not isinstance(known[0].payload, ev.JobSubmitted):
        raise UnknownSubject(f"there is no job {name!r} in cluster {cluster}")
    return [event for event in known if event.seq <= seq]


def _keep(key: tuple[str, str], seq: int, known: tuple[Event, ...]) -> None:
    """Of jobs that there are; the one that was asked for longest ago goes."""
    with _guard:
        if known and seq > _kept.get(key, (0, ()))[0]:
            _kept[key] = seq, known
            _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)


def places(events: Iterable[Event], upto: int | None = None) -> dict[Place, Held]:
    """What had which slot, lost since or not, as of the last generation or an earlier one."""
    found: dict[Place, Held] = {}
    for event in events:
        payload = event.payload
        if isinstance(payload, ev.JobPlaced | ev.NodeSwapped | ev.SliceMoved) and upto is not None and payload.generation > upto:
            break
        if isinstance(payload, ev.JobPlaced | ev.JobRequeued):
            found.clear()
        if isinstance(payload, ev.JobPlaced):
            for number, part in enumerate(payload.slices):
                found.update(_of_slice(number, part, payload.generation))
        elif isinstance(payload, ev.SliceMoved):
            found.update(_of_slice(payload.slice, payload.assignment, payload.generation))
        elif isinstance(payload, ev.NodeSwapped):
            found[payload.slice, payload.slot] = Held(node=payload.new, gpus=(), since=payload.generation)
    return found


def _of_slice(number: int, part: ev.SliceAssignment, generation: int) -> dict[Place, Held]:
    return {(number, slot): Held(node=node, gpus=part.gpus, since=generation) for slot, node in enumerate(part.nodes)}


def _slots(launch: Launch, now: Mapping[Place, Held], after: int) -> list[AssignedSlot]:
    """By rank: nodes stand in the order of their GPUs' ranks."""
    first: dict[Place, Rank] = {}
    for rank in launch.ranks.ranks:
        first.setdefault((rank.slice, rank.slot), rank)
    return [
        AssignedSlot(
            slice=rank.slice,
            slot=rank.slot,
            node=rank.node,
            gpus=now[place].gpus,
            rank=number,
            gpu_rank=rank.rank,
            new=now[place].since > after,
        )
        for number, (place, rank) in enumerate(first.items())
    ]

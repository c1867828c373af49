"""What processes know of each other's searches for plans: whether one goes on, what was tried last, and what it found out in vain.

All of it can be lost: the next search finds it out again.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clusters.domain.ids import SECOND, Instant
from scheduling.domain.defrag.vain import Vain
from scheduling.models import PlanSearch

#: What was tried is not tried again for so long (wall time), however the state changes.
PAUSE = 60 * SECOND


class VainSearch(msgspec.Struct, frozen=True):
    """A search that has found no plan."""

    job: str  # "" for whole domains
    at: Instant  # cluster time of the state that was searched
    code: str
    message: str
    counts: Mapping[str, int]
    stays: Mapping[str, int]  # why jobs stay where they are -> how many jobs
    narrowed: str = ""  # what was asked of the plan beyond what the job asks, in words


_encode = msgspec.json.Encoder().encode
_tried = msgspec.json.Decoder(dict[str, tuple[int, int]]).decode
_vain = msgspec.json.Decoder(dict[str, VainSearch]).decode


def claim(epoch: str, wall: Instant, until: Instant) -> bool:
    """Begin a search, unless one goes on."""
    PlanSearch.objects.get_or_create(epoch=epoch, defaults={"until": 0, "tried": "{}"})
    return bool(PlanSearch.objects.filter(epoch=epoch, until__lte=wall).update(until=until))


def release(epoch: str, until: Instant = 0) -> None:
    """The search is over; the next may begin at that wall time."""
    PlanSearch.objects.filter(epoch=epoch).update(until=until)


def tried(epoch: str) -> dict[str, tuple[int, int]]:
    """Job -> position and wall time of the last search for it."""
    return _tried(PlanSearch.objects.get(epoch=epoch).tried)


def is_vain(last: tuple[int, int] | None, seq: int, wall: Instant) -> bool:
    """Whether the same search would find nothing new, or comes too soon."""
    return last is not None and (last[0] == seq or 0 <= wall - last[1] < PAUSE)


def note_tried(epoch: str, before: Mapping[str, tuple[int, int]], wanting: set[str], now: tuple[str, int, int]) -> None:
    """A search is begun; what nothing calls for any more is forgotten."""
    kept = {job: last for job, last in before.items() if job in wanting}
    kept[now[0]] = now[1:]
    PlanSearch.objects.filter(epoch=epoch).update(tried=_encode(kept).decode())


def note_vain(epoch: str, found: VainSearch | None, job: str, wanting: set[str] | None = None) -> None:
    """What the last search for the job found out, None where it found a plan; with `wanting` all that nothing calls for is forgotten."""
    known = {name: last for name, last in vain_searches(epoch).items() if name != job and (wanting is None or name in wanting)}
    if found is not None:
        known[job] = found
    PlanSearch.objects.filter(epoch=epoch).update(vain=_encode(known).decode())


def vain_of(job: str, at: Instant, why: Vain, narrowed: str = "") -> VainSearch:
    """The search as it is kept."""
    return VainSearch(job, at, why.code, why.message, why.counts, why.stays, narrowed)


def vain_searches(epoch: str) -> dict[str, VainSearch]:
    """Job -> the last search for it, where that was in vain."""
    known = PlanSearch.objects.filter(epoch=epoch).values_list("vain", flat=True).first()
    return _vain(known) if known else {}

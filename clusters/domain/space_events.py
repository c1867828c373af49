"""Events of space: kept for a waiting job, and given back; spares lent, and taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusters.domain.ids import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceReserved:
    """Nodes are kept for a waiting job, in place of any that were kept for it before."""

    VERSION: ClassVar[int] = 1
    job: str
    nodes: tuple[str, ...]
    starts_at: Instant
    expires_at: Instant | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceFreed:
    """What was kept for the job is anybody's again."""

    VERSION: ClassVar[int] = 1
    job: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareLent:
    """The job runs on spares that its domains owe, until a swap needs them."""

    VERSION: ClassVar[int] = 1
    job: str
    nodes: tuple[str, ...]  # of those that it has, the spares


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareReclaimed:
    """A slice needs the spares: the job that they were lent to is told to stop."""

    VERSION: ClassVar[int] = 1
    job: str
    nodes: tuple[str, ...]
    by: str  # the job whose slice needs them
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationExpired:
    """The claim ran out before the job could start."""

    VERSION: ClassVar[int] = 1
    job: str
    reason: str

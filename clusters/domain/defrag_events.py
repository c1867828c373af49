"""Events of plans that make room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusters.domain.defrag import Plan, PlanStatus
from clusters.domain.ids import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragPlanned:
    """There is a plan. Its position gives the plan's id."""

    VERSION: ClassVar[int] = 1
    proposal: Plan
    reason: str  # what called for it


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragApproved:
    """The plan is to be carried out."""

    VERSION: ClassVar[int] = 1
    plan: str
    by: str  # a person, or "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragRejected:
    """A person does not want the plan."""

    VERSION: ClassVar[int] = 1
    plan: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequested:
    """The connector is to ask the job for a checkpoint, since part of it is about to move."""

    VERSION: ClassVar[int] = 1
    job: str
    generation: int
    plan: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragStepDone:
    """One move is complete: the victim has its new place, or waits, and its old nodes are free of it."""

    VERSION: ClassVar[int] = 1
    plan: str
    step: int  # of the plan's moves, from 0
    victim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragFinished:
    """What the plan was for has happened: the job has its place, or the domains are free."""

    VERSION: ClassVar[int] = 1
    plan: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragAborted:
    """The plan ended before that; what was moved stays where it is."""

    VERSION: ClassVar[int] = 1
    plan: str
    status: PlanStatus  # aborted or expired
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomRequested:
    """Somebody wants whole domains free of work, in place of what was wanted before. The next plan for domains answers it."""

    VERSION: ClassVar[int] = 1
    domains: int
    by: str
    reason: str
    at: Instant | None = None  # when they are to be free; None = as soon as can be


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomDropped:
    """The domains are wanted no more, or no plan can free them."""

    VERSION: ClassVar[int] = 1
    by: str
    reason: str

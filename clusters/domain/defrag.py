"""Plans that make room: which work moves, or waits, so that a job fits or whole domains are free; what that costs, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from clusters.domain.ids import Instant
from clusters.domain.job_events import SliceAssignment


class PlanAim(StrEnum):
    """What a plan is for."""

    JOB = "job"  # a waiting job that no domain holds
    STALL = "stall"  # a slice that lost nodes and has no place
    PRIORITY = "priority"  # a waiting job of higher priority
    QUOTA = "quota"  # a waiting job within its team's quota
    DOMAINS = "domains"  # whole domains, as an operator or a schedule wants


class PlanStatus(StrEnum):
    """How far a plan is; the last four are final."""

    PROPOSED = "proposed"  # waits for a person
    RUNNING = "running"
    FINISHED = "finished"
    REJECTED = "rejected"
    ABORTED = "aborted"
    EXPIRED = "expired"  # nobody decided, or it no longer holds


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMove:
    """One victim: a slice that gets another place, or a job that waits until there is room."""

    job: str
    generation: int  # of the job when the plan was made
    slice: int
    domain: str  # that it leaves
    nodes: tuple[str, ...]  # that it leaves
    to: SliceAssignment | None  # None: the whole job waits
    cost: int  # GPU-seconds, weighted: work lost since the last checkpoint, and the restart
    lost: int  # GPU-seconds of these, unweighted


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another way that was looked at, and why it lost."""

    domains: tuple[str, ...]
    cost: int | None  # weighted GPU-seconds; None where it cannot be done
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Moves in an order in which each finds its place free, and what they make room for."""

    aim: PlanAim
    job: str  # that it makes room for; "" for whole domains
    domains: tuple[str, ...]  # that are freed
    nodes: tuple[str, ...]  # that are kept for the job, or free in the end; its spares included
    moves: tuple[PlanMove, ...]
    cost: int  # weighted GPU-seconds of all moves
    bound: int  # no plan costs less than this
    slice_only: int | None  # the same for the job alone, without the spares of its domains; None where that is no cheaper question
    rivals: tuple[Rival, ...]  # the runner-up first
    solver: str  # who found it: "cascade", "highs"
    status: str  # "optimal", or why not
    seconds: float  # that the search took
    at_seq: int  # the state it was made on
    at: Instant  # cluster time that its costs are as of

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no plan costs less."""
        return self.cost <= self.bound

    @property
    def gap(self) -> float:
        """By how much a cheaper plan may cost less, as a share of the cost."""
        return max(0, self.cost - self.bound) / self.cost if self.cost else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivePlan:
    """A plan that waits for a decision or runs."""

    id: str
    plan: Plan
    status: PlanStatus
    proposed_at: Instant
    reason: str  # what called for it
    by: str = ""  # who approved it; "policy" in auto mode
    approved_at: Instant | None = None
    asked_at: Instant | None = None  # when the victims were asked to checkpoint
    begun: tuple[int, ...] = ()  # steps whose victims have been told to leave
    ended: tuple[int, ...] = ()  # steps that are complete; one that turned out needless is, without having begun

    @property
    def done(self) -> int:
        """How many moves are complete."""
        return len(self.ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomRequest:
    """Somebody wants whole domains free of work."""

    domains: int
    by: str
    reason: str
    at: Instant | None  # when they are to be free; None = as soon as can be
    asked_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbed:
    """A plan was approved that moves the job, or makes it wait."""

    at: Instant
    job: str
    team: str


def load_active(plain: dict[str, Any]) -> ActivePlan:
    """The plan whose `asdict` this is."""
    status, begun, ended = PlanStatus(plain["status"]), tuple(plain["begun"]), tuple(plain["ended"])
    return ActivePlan(**{**plain, "plan": _load_plan(plain["plan"]), "status": status, "begun": begun, "ended": ended})


def _load_plan(plain: dict[str, Any]) -> Plan:
    rivals = tuple(Rival(**{**rival, "domains": tuple(rival["domains"])}) for rival in plain["rivals"])
    moves = tuple(_load_move(move) for move in plain["moves"])
    domains, nodes = tuple(plain["domains"]), tuple(plain["nodes"])
    return Plan(**{**plain, "aim": PlanAim(plain["aim"]), "domains": domains, "nodes": nodes, "moves": moves, "rivals": rivals})


def _load_move(plain: dict[str, Any]) -> PlanMove:
    to = plain["to"]
    place = None if to is None else SliceAssignment(domain=to["domain"], nodes=tuple(to["nodes"]), gpus=tuple(to["gpus"]))
    return PlanMove(**{**plain, "nodes": tuple(plain["nodes"]), "to": place})

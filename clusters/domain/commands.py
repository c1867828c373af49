"""Commands: what somebody, or a timer, wants done. They are recorded with the decision they led to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusters.domain.defrag import Plan
from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.racks import RackState


class NodeVerb(StrEnum):
    """What an operator may say of a node."""

    FAIL = "fail"
    REPAIR = "repair"
    DRAIN = "drain"
    UNDRAIN = "undrain"
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitJob:
    """Ask for nodes or GPUs."""

    request: JobRequest
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitJobs:
    """Ask for all of these, or for none."""

    requests: tuple[JobRequest, ...]
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJob:
    """Stop a job for good, or take it from the queue."""

    job: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldJob:
    """Keep a waiting job back."""

    job: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseJob:
    """Let a held job be placed again."""

    job: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePriority:
    """Let a job wait further ahead, or further back."""

    job: str
    priority: int
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCheckpoint:
    """Running work has saved its progress."""

    job: str
    step: int
    by: str
    at: Instant | None = None  # cluster time; None = now
    generation: int | None = None  # under which it was saved; None = the present one


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkNode:
    """An operator says something of a node."""

    node: str
    verb: NodeVerb
    by: str
    reason: str = ""


class SwitchVerb(StrEnum):
    """What an operator can say of a switch tray."""

    FAIL = "fail"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkSwitch:
    """An operator says something of a switch tray, or of one of its chips."""

    rack: str
    tray: int
    verb: SwitchVerb
    by: str
    chip: int | None = None  # None: all of the tray
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePolicy:
    """Put another policy in force, in place of the version that its author has seen."""

    policy: Policy
    expected: int
    by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRackState:
    """Have a rack take all work, some, or none."""

    rack: str
    state: RackState
    by: str
    until: Instant | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRack:
    """Take a rack and its nodes out of the cluster for good."""

    rack: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetBreaker:
    """Let verdicts act again: a person has looked."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposePlan:
    """A search has found a plan that makes room."""

    plan: Plan
    reason: str  # what called for it


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovePlan:
    """Have a proposed plan carried out."""

    plan: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectPlan:
    """Do away with a proposed plan."""

    plan: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRoom:
    """Have whole domains freed of work: a plan is looked for, and proposed or carried out as the policy says."""

    domains: int
    by: str
    reason: str = ""
    at: Instant | None = None  # cluster time at which they are to be free; None = as soon as can be


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRoom:
    """The domains are wanted no more, or no plan can free them."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlans:
    """Do away with proposals that no longer hold; in auto mode approve those that the budgets allow by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPass:
    """Settle what stopped, recover what failed, place what waits."""


Command = (
    SubmitJob
    | SubmitJobs
    | CancelJob
    | HoldJob
    | ReleaseJob
    | ChangePriority
    | ReportCheckpoint
    | MarkNode
    | MarkSwitch
    | ChangePolicy
    | SetRackState
    | RemoveRack
    | ResetBreaker
    | ProposePlan
    | ApprovePlan
    | RejectPlan
    | RequestRoom
    | DropRoom
    | ReviewPlans
    | RunPass
)

"""`decide(state, command, now)`: the one way from a command to events.

Pure: it reads the state and changes nothing, neither the state nor anything else. A refusal is a value. The events are in the order in
which they are to be folded, and folding them gives the space that the decision was made on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain.commands import (
    ApprovePlan,
    CancelJob,
    ChangePolicy,
    ChangePriority,
    Command,
    DropRoom,
    HoldJob,
    MarkNode,
    MarkSwitch,
    ProposePlan,
    RejectPlan,
    ReleaseJob,
    RemoveRack,
    ReportCheckpoint,
    RequestRoom,
    ResetBreaker,
    ReviewPlans,
    RunPass,
    SetRackState,
    SubmitJob,
    SubmitJobs,
)
from clusters.domain.decision import Decision, Refusal
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from scheduling.domain.defrag_commands import approve_plan, drop_room, propose_plan, reject_plan, request_room, review_plans
from scheduling.domain.job_commands import cancel_job, change_priority, hold_job, release_job, submit_job, submit_jobs
from scheduling.domain.node_commands import mark_node
from scheduling.domain.passes import run_pass
from scheduling.domain.policy_commands import change_policy
from scheduling.domain.progress import report_checkpoint
from scheduling.domain.rack_states import remove_rack, set_rack_state
from scheduling.domain.switch_commands import mark_switch
from scheduling.domain.verdicts.breaker import reset_breaker

_HANDLERS: dict[type[Command], Callable[[ClusterState, Any], Decision | Refusal]] = {
    SubmitJob: submit_job,
    SubmitJobs: submit_jobs,
    CancelJob: cancel_job,
    HoldJob: hold_job,
    ReleaseJob: release_job,
    ChangePriority: change_priority,
    ReportCheckpoint: report_checkpoint,
    MarkNode: mark_node,
    MarkSwitch: mark_switch,
    ChangePolicy: change_policy,
    ResetBreaker: reset_breaker,
    SetRackState: set_rack_state,
    RemoveRack: remove_rack,
}

#: What is decided by the time, too.
_TIMED: dict[type[Command], Callable[[ClusterState, Any, Instant], Decision | Refusal]] = {
    RunPass: lambda state, _, now: run_pass(state, now),
    ProposePlan: propose_plan,
    ApprovePlan: approve_plan,
    RejectPlan: reject_plan,
    RequestRoom: request_room,
    DropRoom: drop_room,
    ReviewPlans: review_plans,
}


def decide(state: ClusterState, command: Command, now: Instant) -> Decision | Refusal:
    """What the command leads to in this state at `now`, in cluster time."""
    timed = _TIMED.get(type(command))
    if timed is not None:
        return timed(state, command, now)
    return _HANDLERS[type(command)](state, command)

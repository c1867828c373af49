"""What users, operators and timers do to a cluster: each function is one command, decided and stored by the event log.

A refusal is returned, not raised. With a request id, the same call repeated gets the answer of the first time, also after a crash.
"""

from __future__ import annotations

from collections.abc import Callable

from clusters.domain.clock import cluster_now
from clusters.domain.commands import CancelJob, ChangePolicy, Command, HoldJob, MarkNode, NodeVerb, ReleaseJob, RunPass, SubmitJob
from clusters.domain.decision import Decision, Refusal
from clusters.domain.events import MAX_SOURCE
from clusters.domain.health import PERSON, SCHEDULER
from clusters.domain.ids import Instant, job_id
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from clusters.eventlog.store import commit
from scheduling.domain.deadlines import next_deadline
from scheduling.domain.decide import decide


def job_submit(*, cluster: str, request: JobRequest, by: str, request_id: str | None = None) -> str | Refusal:
    """Ask for nodes or GPUs; returns the job's id."""
    outcome = _command(cluster, SubmitJob(request=request, by=by), by, request_id)
    return outcome if isinstance(outcome, Refusal) else job_id(outcome.events[0].seq)


def job_cancel(*, cluster: str, job: str, by: str, reason: str = "", request_id: str | None = None) -> Refusal | None:
    """Take a job from the queue, or have its work stopped for good."""
    return _refusal(_command(cluster, CancelJob(job=job, by=by, reason=reason), by, request_id))


def job_hold(*, cluster: str, job: str, by: str, reason: str = "", request_id: str | None = None) -> Refusal | None:
    """Keep a waiting job back."""
    return _refusal(_command(cluster, HoldJob(job=job, by=by, reason=reason), by, request_id))


def job_release(*, cluster: str, job: str, by: str, reason: str = "", request_id: str | None = None) -> Refusal | None:
    """Let a held job be placed again."""
    return _refusal(_command(cluster, ReleaseJob(job=job, by=by, reason=reason), by, request_id))


def node_mark(*, cluster: str, node: str, verb: NodeVerb, by: str, reason: str = "", request_id: str | None = None) -> Refusal | None:
    """Say something of a node: failed, repaired, draining and so on."""
    return _refusal(_command(cluster, MarkNode(node=node, verb=verb, by=by, reason=reason), by, request_id))


def policy_change(*, cluster: str, policy: Policy, expected: int, by: str, reason: str, request_id: str | None = None) -> Refusal | None:
    """Put a policy in force in place of version `expected`; the next version is one more."""
    return _refusal(_command(cluster, ChangePolicy(policy=policy, expected=expected, by=by, reason=reason), by, request_id))


def command_commit(*, cluster: str, command: Command, by: str, request_id: str | None = None) -> Committed | Refusal:
    """Any command, as somebody gives it."""
    return _command(cluster, command, by, request_id)


def command_rehearse(*, cluster: str, command: Command) -> tuple[int, Decision] | Refusal:
    """What the command would lead to, and the position that this was decided at; nothing is stored. Raises UnknownCluster."""
    with live(cluster).reading() as state:
        outcome = decide(state, command, cluster_now(state, wall_now()))
        return outcome if isinstance(outcome, Refusal) else (state.seq, outcome)


def run_pass(cluster: str) -> int:
    """Settle, recover and place until nothing is left to do; returns how many events that took."""
    events = 0
    more = True
    while more:
        step, more = pass_step(cluster)
        events += step
    return events


def pass_step(cluster: str) -> tuple[int, bool]:
    """One decision of the pass, in one short transaction; returns how many events it took, and whether there is more to do."""
    outcome = commit(cluster, Request(command=RunPass(), source=SCHEDULER, request_id=None), decide)
    return (0, False) if isinstance(outcome, Refusal) else (len(outcome.events), outcome.more)


def deadline_of(cluster: str) -> Callable[[Instant], Instant | None]:
    """When the cluster's pass has something to do next after a moment of cluster time, though nothing happens."""

    def deadline(after: Instant) -> Instant | None:
        with live(cluster).reading() as state:
            return next_deadline(state, after)

    return deadline


def _command(cluster: str, command: Command, by: str, request_id: str | None) -> Committed | Refusal:
    source = f"{PERSON}{by}"[:MAX_SOURCE]
    return commit(cluster, Request(command=command, source=source, request_id=request_id), decide)


def _refusal(outcome: Committed | Refusal) -> Refusal | None:
    return outcome if isinstance(outcome, Refusal) else None

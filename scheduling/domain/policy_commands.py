"""Changing the policy, and what a change would mean.

A change is decided against the version that its author has seen: of two people who change at once, the second is told. Work that runs
keeps what it has; the next placement is cut, ordered and refused by the new policy.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from clusters.domain.books import Use
from clusters.domain.books_of import domain_uses
from clusters.domain.commands import ChangePolicy
from clusters.domain.decision import Decision, Refusal
from clusters.domain.events import PolicyActivated
from clusters.domain.evolve_health import end_checks
from clusters.domain.ids import Instant
from clusters.domain.job_events import JobPlaced
from clusters.domain.jobs import ACTIVE
from clusters.domain.policy import Policy
from clusters.domain.slices import cluster_slice, domain_slice
from clusters.domain.state import ClusterState
from scheduling.domain.feasibility import could_never_fit, whole_space
from scheduling.domain.queue import place_waiting
from scheduling.domain.quotas import Quotas, gpus_asked
from scheduling.domain.trial import Trial

MOST_REASON = 200


def change_policy(state: ClusterState, command: ChangePolicy) -> Decision | Refusal:
    """The next version, unless the policy has changed meanwhile, or would not change at all."""
    now = state.policy_version
    if not (command.reason.strip() and len(command.reason) <= MOST_REASON and command.reason.isprintable()):
        expected = f"say why, in 1 to {MOST_REASON} printable characters"
        counts: dict[str, int | str] = {"field": "reason", "value": command.reason[:MOST_REASON], "expected": expected}
        return Refusal(code="invalid", message=f"reason: {expected}", counts=counts)
    if command.expected != now:
        return Refusal(code="state", message=f"policy {now} is in force, not {command.expected}; look at it, then change that one")
    if command.policy == state.policy:
        return Refusal(code="state", message=f"nothing would change: policy {now} says the same")
    return Decision(events=(PolicyActivated(version=now + 1, policy=command.policy, reason=command.reason, by=command.by),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a policy makes of the cluster as it is now."""

    slice_size: int  # nodes, in a domain of the usual size
    idle_slices: int  # whole slices that free nodes make, owed spares left aside
    idle_nodes: int
    stranded_nodes: int  # free, but too few in their domain for a slice
    spare_nodes: int  # owed, and there
    starting: int  # waiting jobs that could start now
    never: int  # waiting jobs that could never start
    held: int  # waiting jobs that the quota of their team keeps from starting now, each by itself
    above_quota: int  # jobs with nodes of teams that hold more than their quota; they go on
    borrowed_gpus: int  # GPUs that teams hold above their quotas


def outlook(state: ClusterState, policy: Policy, now: Instant) -> Outlook:
    """What the cluster would be like under the policy; the state is left as it is."""
    twin = under(state, policy)
    counts = dict.fromkeys((Use.IDLE, Use.STRANDED, Use.SPARE), 0)
    slices = 0
    for domain, group in enumerate(twin.topology.domains):
        uses = domain_uses(twin, domain)
        for use in counts:
            counts[use] += uses.count(use)
        slices += uses.count(Use.IDLE) // domain_slice(group.size, policy)
    whole = whole_space(twin)
    borrowed = _borrowed(twin)
    return Outlook(
        slice_size=cluster_slice(twin.topology, policy),
        idle_slices=slices,
        idle_nodes=counts[Use.IDLE],
        stranded_nodes=counts[Use.STRANDED],
        spare_nodes=counts[Use.SPARE],
        starting=sum(isinstance(event, JobPlaced) for event in place_waiting(Trial(twin, now))),
        never=sum(could_never_fit(whole, twin.jobs[name].request, policy) is not None for name in twin.queue),
        held=_held(twin),
        above_quota=sum(job.state in ACTIVE and job.request.team in borrowed for job in twin.jobs.values()),
        borrowed_gpus=sum(borrowed.values()),
    )


def _held(state: ClusterState) -> int:
    quotas, per_node = Quotas(state), state.topology.usual_gpus
    requests = (state.jobs[name].request for name in state.queue)
    return sum(quotas.refusal(request.team, gpus_asked(request, per_node)) is not None for request in requests)


def _borrowed(state: ClusterState) -> dict[str, int]:
    """Teams that hold more than their quota -> GPUs above it."""
    quotas = Quotas(state)
    above = {team: quotas.used(team) - row.gpus for team in state.usage.teams if (row := quotas.of(team)) is not None}
    return {team: gpus for team, gpus in above.items() if gpus > 0}


def under(state: ClusterState, policy: Policy) -> ClusterState:
    """The state with another policy, for reading: all else is shared with the original."""
    state.space  # noqa: B018 - built once, for both
    twin = copy(state)
    twin.policy = policy
    if policy.offender_failures != state.policy.offender_failures:
        twin.drop_space()
    unchecked = [] if policy.check_repaired else [node for node in state.nodes.values() if node.unchecked is not None]
    if unchecked:  # they would be in service
        twin.drop_space()
        twin.nodes = {**state.nodes, **{node.name: copy(node) for node in unchecked}}
        twin.unasked = set(state.unasked)
        end_checks(twin)
    return twin

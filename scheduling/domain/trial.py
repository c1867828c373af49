"""A decision in the making: the space as it will be once the events decided so far are folded.

It forks the state's space and never touches the state, so a decision that is thrown away leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from clusters.domain.books import Condition
from clusters.domain.decision import Refusal
from clusters.domain.ids import SECOND, Instant
from clusters.domain.job_events import SliceAssignment
from clusters.domain.jobs import JobRequest
from clusters.domain.space import Space
from clusters.domain.state import ClusterState
from scheduling.domain.causes import with_cause
from scheduling.domain.feasibility import could_never_fit, whole_space
from scheduling.domain.limits import ends_by
from scheduling.domain.placement import Placement, place
from scheduling.domain.refusals import INFEASIBLE, with_conditions


class Trial:
    """The state, and the space beyond it, at one moment of cluster time."""

    def __init__(self, state: ClusterState, now: Instant) -> None:
        self.state = state
        self.now = now
        self.policy = state.policy
        self.space = state.space.fork()
        self.topology = self.space.topology
        self.stopping: set[str] = set()  # jobs that this decision asks to stop, or that are gone in a what-if
        self.given_back: dict[str, int] = {}  # GPUs that teams hold no more in a what-if

    def place(self, request: JobRequest) -> Placement | Refusal:
        """Where the request would run now."""
        return place(self.space, request, self.policy, self.recent)

    def take(self, request: JobRequest, placement: Placement) -> None:
        """The request gets these nodes, and their domains owe its spares."""
        for assignment in placement:
            self.take_slice(assignment)
        if len(placement) > 1 or len(placement[0].nodes) > 1:
            for assignment in placement:
                self.space.add_want(self.topology.domain_index[assignment.domain], request.spares)
        if request.exclusive:
            for assignment in placement:
                self.space.closed |= 1 << self.topology.domain_index[assignment.domain]

    def take_slice(self, assignment: SliceAssignment) -> None:
        """The slice gets its nodes, or the GPUs of its only node."""
        indexes = [self.topology.index[name] for name in assignment.nodes]
        if assignment.gpus:
            self.space.take_gpus(indexes[0], sum(1 << gpu for gpu in assignment.gpus))
        else:
            domain = self.topology.domain_index[assignment.domain]
            first = self.topology.domains[domain].first
            self.space.take_mask(domain, sum(1 << index - first for index in indexes))

    def ends_by(self, request: JobRequest) -> Instant | None:
        """When the request, started now, will have ended for certain, or can be made to; None where nothing ends it."""
        return ends_by(request, self.now)

    def reasons(self, refusal: Refusal) -> Refusal:
        """The refusal with all that is counted in the whole state."""
        return refusal if refusal.code == INFEASIBLE else with_conditions(refusal, self._conditions)

    def final(self, request: JobRequest, refusal: Refusal) -> Refusal:
        """The refusal with its true cause, or a graver one where the request could never be placed."""
        never = could_never_fit(self._whole, request, self.policy)
        return never or self.reasons(with_cause(self.space, self._whole, request, self.policy, refusal))

    @cached_property
    def recent(self) -> int:
        """Mask of the domains in which a node has failed of late: chosen after others that serve as well."""
        return self.space.failed_since(self.now - self.policy.incident_memory_s * SECOND)

    @cached_property
    def _conditions(self) -> Counter[Condition]:
        return Counter(node.condition for node in self.state.nodes.values())

    @cached_property
    def _whole(self) -> Space:
        return whole_space(self.state)

"""A decision in the making: the space as it will be once the events decided so far are folded.

It forks the state's space and never touches the state, so a decision that is thrown away leaves no trace.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from functools import cached_property

from clusters.domain.books import PLACEABLE
from clusters.domain.decision import Refusal
from clusters.domain.evolve_space import reservation_of
from clusters.domain.ids import SECOND, Instant
from clusters.domain.job_events import SliceAssignment
from clusters.domain.jobs import JobRequest
from clusters.domain.reservations import Reservation
from clusters.domain.space import Space
from clusters.domain.space_events import SpaceReserved
from clusters.domain.state import ClusterState, Job
from scheduling.domain.causes import with_cause
from scheduling.domain.feasibility import could_never_fit, whole_space
from scheduling.domain.forecast import Ends, Release
from scheduling.domain.limits import ends_by
from scheduling.domain.placement import Placement, place
from scheduling.domain.refusals import INFEASIBLE, UNCHECKED, with_conditions
from scheduling.domain.terms import RECOVERY_BUDGET
from scheduling.domain.views import Views


class Trial:
    """The state, and the space beyond it, at one moment of cluster time."""

    def __init__(self, state: ClusterState, now: Instant) -> None:
        self.state = state
        self.now = now
        self.policy = state.policy
        self.space = state.space.fork()
        self.topology = self.space.topology
        self.stopping: set[str] = set()  # jobs that this decision asks to stop, or that are gone in a what-if
        self.left: set[str] = set()  # of these, jobs that have left their nodes already, in a what-if
        self.moved: set[str] = set()  # jobs that are elsewhere in a what-if than the state says
        self.given_back: dict[str, int] = {}  # GPUs that teams hold no more in a what-if
        self.promised: dict[int, int] = {}  # domain -> nodes of it that slices which lack some wait for
        self.short: set[str] = set()  # jobs that lack nodes and have got none
        self.taken: list[tuple[JobRequest, Placement]] = []  # what this decision has placed
        self.kept: dict[str, Reservation] = dict(state.reservations)  # as this decision leaves them
        self.passed: dict[str, None] = {}  # jobs that nodes are kept for, whose turn has come, and that wait on, in turn order
        self.withdrawn: set[str] = set()  # jobs that wait no more in a what-if
        self.releases: dict[str, Release] = {}  # what jobs that run give back; of the state alone, so that all forks share it
        self._views: Views | None = None
        self._ends: Ends | None = None

    def fork(self) -> Trial:
        """An independent trial that goes on from here."""
        twin = copy(self)
        twin.space = self.space.fork()
        twin.moved = set(self.moved)
        twin.stopping, twin.short, twin.promised = set(self.stopping), set(self.short), dict(self.promised)
        twin.left, twin.given_back, twin.taken = set(self.left), dict(self.given_back), list(self.taken)
        twin.kept, twin.passed, twin.withdrawn = dict(self.kept), dict(self.passed), set(self.withdrawn)
        twin._views = twin._ends = None
        return twin

    @property
    def views(self) -> Views:
        """Who may use which free nodes: made on first use, and anew where a copy of the trial has got a space of its own."""
        if self._views is None or self._views.base is not self.space:
            self._views = Views(self.state, self.space, self.now)
            for name in sorted(self.state.closed_racks):
                service = self.state.racks[name].service
                if service.until is not None:
                    self._views.close_rack(service.until, (node.name for node in self.state.nodes.values() if node.rack == name))
            for reservation in self.kept.values():
                self._views.keep(reservation, self.state.jobs.get(reservation.job))
            for name in self.passed:
                self._views.pass_by(name)
        return self._views

    def shut_to(self, request: JobRequest) -> int:
        """Mask of the domains in which a rack has a maintenance that the request would not have ended before."""
        if not self.state.closed_racks:
            return 0
        binding = self.views.closures(self.views.racks_closed_to(request))
        return sum(1 << domain for domain in {domain for closure in binding for domain in closure.masks})

    def forget_views(self) -> None:
        """The space has been changed by itself: the views are to follow from it anew."""
        self._views = None

    @property
    def ends(self) -> Ends:
        """The ends of the work that has nodes."""
        if self._ends is None:
            self._ends = Ends(self)
        return self._ends

    def place(self, request: JobRequest, job: Job | None = None) -> Placement | Refusal:
        """Where the request would run now. What is kept for others is not for it, unless it ends in time; what is kept for its job is."""
        return self.place_in(self.views.space(self.views.closed_to(request, job)), request)

    def place_in(self, space: Space, request: JobRequest) -> Placement | Refusal:
        """Where the request would run in this space."""
        return place(space, request, self.policy, self.recent)

    def start(self, job: Job, placement: Placement) -> None:
        """The job gets these nodes: what was kept for it is not any more."""
        self.take(job.request, placement)
        if job.id in self.kept:
            self.give_up(job.id)

    def take(self, request: JobRequest, placement: Placement) -> None:
        """The request gets these nodes, and their domains owe its spares."""
        for assignment in placement:
            self.take_slice(assignment)
        if len(placement) > 1 or len(placement[0].nodes) > 1:
            for assignment in placement:
                self.views.add_want(self.topology.domain_index[assignment.domain], request.spares)
        if request.exclusive:
            for assignment in placement:
                self.views.close_domain(self.topology.domain_index[assignment.domain])
        self.taken.append((request, placement))

    def take_slice(self, assignment: SliceAssignment) -> None:
        """The slice gets its nodes, or the GPUs of its only node."""
        indexes = [self.topology.index[name] for name in assignment.nodes]
        if assignment.gpus:
            self.views.take_gpus(indexes[0], sum(1 << gpu for gpu in assignment.gpus))
        else:
            domain = self.topology.domain_index[assignment.domain]
            first = self.topology.domains[domain].first
            self.views.take_mask(domain, sum(1 << index - first for index in indexes))

    def keep(self, reserved: SpaceReserved) -> None:
        """Nodes are kept for a job from now on."""
        job = reserved.job
        before = self.kept.pop(job, None)
        if before is not None:
            self._mark(before, on=False)
        self.kept[job] = reservation_of(reserved, self.state.seq, before)
        self._mark(self.kept[job], on=True)
        self.views.keep(self.kept[job], self.state.jobs.get(job))
        if job in self.passed:
            self.views.pass_by(job)

    def give_up(self, job: str) -> None:
        """Nothing is kept for the job any more."""
        self._mark(self.kept.pop(job), on=False)
        self.passed.pop(job, None)
        self.views.drop(job)

    def _mark(self, reservation: Reservation, *, on: bool) -> None:
        marked = [reservation] if on else [reservation, *self.kept.values()]  # a node may be kept for two jobs, one after the other
        for number, kept in enumerate(marked):
            for name in kept.nodes:
                if name in self.topology.index:
                    self.space.reserve(self.topology.index[name], on=on or number > 0)

    def withdraw(self, job: str) -> None:
        """The job waits no more, in a what-if."""
        self.withdrawn.add(job)
        if job in self.kept:
            self.give_up(job)

    def pass_by(self, job: str) -> None:
        """The job's turn has come, and it waits on with nodes kept for it."""
        self.passed[job] = None
        self.views.pass_by(job)

    def ends_by(self, request: JobRequest) -> Instant | None:
        """When the request, started now, will have ended for certain, or can be made to; None where nothing ends it."""
        return ends_by(request, self.now)

    def reasons(self, refusal: Refusal) -> Refusal:
        """The refusal with all that is counted in the whole state."""
        return refusal if refusal.code in (INFEASIBLE, RECOVERY_BUDGET) else with_conditions(refusal, self._conditions)

    def final(self, request: JobRequest, refusal: Refusal, job: Job | None = None) -> Refusal:
        """The refusal with its true cause, or a graver one where the request could never be placed."""
        never = could_never_fit(self._whole, request, self.policy)
        space = self.views.space(self.views.closed_to(request, job))
        return never or self.reasons(with_cause(space, self._whole, request, self.policy, refusal))

    @cached_property
    def recent(self) -> int:
        """Mask of the domains in which a node has failed of late: chosen after others that serve as well."""
        return self.space.failed_since(self.now - self.policy.incident_memory_s * SECOND)

    @cached_property
    def _conditions(self) -> Counter[str]:
        nodes = self.state.nodes.values()
        return Counter(UNCHECKED if node.unchecked is not None and node.condition in PLACEABLE else node.condition for node in nodes)

    @cached_property
    def _whole(self) -> Space:
        return whole_space(self.state)

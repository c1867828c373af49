"""Carrying out plans: what each pass does for those that run.

First the space is kept for the job, and the victims are asked to save their progress. When they have, or their time is over, the plan is
checked once more, and each move begins as soon as its place is free: new nodes first, and the old ones are free once the work there has
stopped. The job is then placed by the queue, on what is kept for it.

All that a step needs to know is in the state, so a pass may come at any time, and again: a plan goes on where the log stands. Where
something comes between (a victim has changed, a place is taken, the job wants it no more, time is over) the plan ends. What has begun to
move goes on by itself like any move, and what was freed stays kept for the job until the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from clusters.domain.decision import Refusal
from clusters.domain.defrag import ActivePlan, PlanAim, PlanMove, PlanStatus
from clusters.domain.defrag_events import CheckpointRequested, DefragAborted, DefragApproved, DefragFinished, DefragStepDone
from clusters.domain.events import Payload
from clusters.domain.ids import SECOND, Instant
from clusters.domain.job_events import AfterStop, JobPlaced, JobPreempted, SliceAssignment, StopRequested, WorkStopped
from clusters.domain.jobs import ACTIVE
from clusters.domain.setting import DefragMode
from clusters.domain.space_events import SpaceFreed, SpaceReserved
from clusters.domain.state import ClusterState
from scheduling.domain.defrag.checker import check
from scheduling.domain.defrag_commands import reviewed
from scheduling.domain.defrag_terms import over_budget, terms_for
from scheduling.domain.defrag_trigger import WAITING_AIMS, is_over, is_pointless
from scheduling.domain.limits import outlasts_rack
from scheduling.domain.recovery import moved, retake
from scheduling.domain.stopping import stop_work
from scheduling.domain.trial import Trial


def run_plans(trial: Trial) -> Iterator[list[Payload]]:
    """What all plans come to now, each as one whole; in auto mode proposals, too."""
    for known in list(trial.state.defrag.values()):
        events = _Run(trial, known).step() if known.status is PlanStatus.RUNNING else _proposal(trial, known)
        if events:
            yield events


def _proposal(trial: Trial, known: ActivePlan) -> list[Payload]:
    """What is for nothing any more ends at once, and what the policy approves it approves at once; the rest is reviewed now and then."""
    if why := is_pointless(trial.state, known.plan):
        return [DefragAborted(plan=known.id, status=PlanStatus.EXPIRED, reason=why)]
    approves = trial.policy.defrag_mode is DefragMode.AUTO and not over_budget(trial.state, known.plan, trial.now)
    return reviewed(trial.state, known, trial.now) if approves else []


def plan_deadlines(state: ClusterState) -> Iterator[Instant]:
    """When the time is over that victims have to save their progress, and that plans have to be done."""
    for known in state.defrag.values():
        if known.asked_at is not None and not known.begun:
            yield known.asked_at + state.policy.defrag_grace_s * SECOND
        if known.approved_at is not None:
            yield known.approved_at + state.policy.defrag_claim_s * SECOND


def leaves_more(state: ClusterState, event: Payload) -> bool:
    """Whether a plan has something to do at once after the event."""
    if isinstance(event, JobPlaced):
        return any(known.plan.job == event.job for known in state.defrag.values())
    if isinstance(event, WorkStopped):  # of a cluster without an engine
        return bool(state.defrag)
    return isinstance(event, DefragApproved | CheckpointRequested | DefragStepDone)


class _Run:
    """One plan at one moment."""

    def __init__(self, trial: Trial, known: ActivePlan) -> None:
        self._trial = trial
        self._state = trial.state
        self._known = known
        self._plan = known.plan
        self._why = f"plan {known.id} makes room for {f'job {known.plan.job}' if known.plan.job else 'whole domains'}"
        self._generations: dict[str, int] = {}  # of victims that this decision has moved
        self._begun = set(known.begun)
        self._ended = set(known.ended)
        self._limit = (known.approved_at or 0) + trial.policy.defrag_claim_s * SECOND

    def step(self) -> list[Payload]:
        """What is to be done now; nothing where there is only waiting."""
        done = list(self._done())
        if why := self._reached():
            return [*done, *self._keep_no_more(), DefragFinished(plan=self._known.id, reason=why)]
        if why := is_over(self._state, self._plan):
            return [*done, *self._abort(why)]
        if self._trial.now >= self._limit or (self._known.asked_at is not None and not self._is_kept()):
            return [*done, *self._abort("it was not done in time")]
        if self._known.asked_at is None and (asked := list(self._ask())):
            return [*done, *self._reserve(self._places()), *asked]
        if not self._is_kept():
            return [*done, *self._reserve(self._places())]
        if not self._pending():
            return [*done, *self._close()]
        if not self._known.begun and not self._may_begin():
            return done
        return [*done, *self._go_on()]

    # ---- how far it is

    def _done(self) -> Iterator[Payload]:
        """Steps whose victims have left, by the plan or by themselves."""
        for step, move in enumerate(self._plan.moves):
            if step not in self._ended and self._has_left(step, move):
                self._ended.add(step)
                yield DefragStepDone(plan=self._known.id, step=step, victim=move.job)

    def _has_left(self, step: int, move: PlanMove) -> bool:
        job = self._state.jobs.get(move.job)
        if job is None:
            return True
        if any(name in job.held_nodes for name in move.nodes):
            return False
        return step in self._known.begun or job.state not in ACTIVE or job.slices[move.slice].domain != move.domain

    def _pending(self) -> list[tuple[int, PlanMove]]:
        """Steps that are not complete."""
        return [(step, move) for step, move in enumerate(self._plan.moves) if step not in self._ended]

    def _reached(self) -> str:
        """What the plan was for, in words, if it has happened."""
        if self._plan.aim is PlanAim.DOMAINS:
            free = not self._pending() and self._is_kept() and not any(map(self._holders, self._plan.nodes))
            return f"{', '.join(self._plan.domains)} are free" if free else ""
        job = self._state.jobs.get(self._plan.job)
        if job is None or job.state not in ACTIVE:
            return ""
        return f"job {job.id} has its nodes" if self._plan.aim in WAITING_AIMS or not job.lost_slots else ""

    def _holders(self, name: str) -> list[str]:
        node = self._state.nodes.get(name)
        return [] if node is None else [node.job] if node.job else list(node.shares)

    # ---- the space

    def _is_kept(self) -> bool:
        kept = self._trial.kept.get(self._plan.job)
        return kept is not None and kept.expires_at is not None and kept.expires_at > self._trial.now

    def _reserve(self, nodes: tuple[str, ...]) -> list[Payload]:
        """The nodes are kept for the job until the plan's limit, in place of those that were."""
        reserved = SpaceReserved(job=self._plan.job, nodes=nodes, starts_at=self._trial.now, expires_at=self._limit, reason=self._why)
        self._trial.keep(reserved)
        return [reserved]

    def _keep_no_more(self) -> list[Payload]:
        """A job that has its nodes needs no others; domains stay free until the limit."""
        if self._plan.aim is PlanAim.DOMAINS or self._plan.job not in self._trial.kept:
            return []
        return self._free("the job has its nodes")

    def _free(self, reason: str) -> list[Payload]:
        self._trial.give_up(self._plan.job)
        return [SpaceFreed(job=self._plan.job, reason=reason)]

    # ---- what is done

    def _places(self) -> tuple[str, ...]:
        """What is to be free in the end, and where work is to move to."""
        to = (name for _, move in self._pending() if move.to is not None for name in move.to.nodes)
        return tuple(dict.fromkeys((*self._plan.nodes, *to)))

    def _ask(self) -> Iterator[Payload]:
        """The victims are to save their progress."""
        for name in dict.fromkeys(move.job for _, move in self._pending()):
            job = self._state.jobs[name]
            if job.state in ACTIVE:
                yield CheckpointRequested(job=name, generation=job.generation, plan=self._known.id, reason=self._why)

    def _may_begin(self) -> bool:
        """Whether all victims have saved their progress, or their time for it is over."""
        asked = self._known.asked_at
        if asked is None or asked + self._state.policy.defrag_grace_s * SECOND <= self._trial.now:
            return True
        victims = (self._state.jobs[move.job] for _, move in self._pending())
        return all(job.checkpoint_at is not None and job.checkpoint_at >= asked for job in victims)

    def _go_on(self) -> list[Payload]:
        """Begin what can begin; end the plan where something has come between."""
        fresh = not self._known.begun and not self._ended
        if fresh and (problems := check(self._state, self._plan, terms_for(self._state, self._trial.now, self._known.id), self._trial.now)):
            return self._abort("; ".join(problems))
        events: list[Payload] = []
        for step, move in self._pending():
            if step in self._begun:
                continue
            if why := self._changed(move):
                return [*events, *self._abort(why)]
            if move.to is None:
                events += self._send_away(move)
            elif self._is_free(move.to):
                events += self._move(move, move.to)
            else:
                continue
            self._begun.add(step)
        return events

    def _changed(self, move: PlanMove) -> str:
        """What keeps the step from being taken as it was planned, in words."""
        job = self._state.jobs[move.job]
        if job.state not in ACTIVE or job.id in self._trial.stopping:
            return "" if move.to is None else f"job {job.id} is stopping"
        if move.to is None:
            return ""
        part = job.slices[move.slice]
        if part.domain != move.domain or tuple(part.nodes) != move.nodes:
            return f"job {job.id} is not where it was any more"
        leaving = {(name, other.job) for _, other in self._pending() for name in other.nodes}
        for name in move.to.nodes:
            node = self._state.nodes.get(name)
            if node is None or not node.placeable:
                return f"{name}, a place for job {job.id}, cannot be used any more"
            if outlasts_rack(self._state, job.request, name, self._trial.now):
                return f"the rack of {name} has its maintenance before job {job.id} would end"
            if others := [holder for holder in self._holders(name) if (name, holder) not in leaving and not self._shares(name, move.to)]:
                return f"{name}, a place for job {job.id}, was taken by {', '.join(others)}"
        return ""

    def _shares(self, name: str, to: SliceAssignment) -> bool:
        """Whether the GPUs wanted of the node are nobody's."""
        wanted = sum(1 << gpu for gpu in to.gpus)
        node = self._state.nodes[name]
        return bool(to.gpus) and not node.job and not any(mask & wanted for mask in node.shares.values())

    def _is_free(self, to: SliceAssignment) -> bool:
        """Whether nobody has the place now, this decision included."""
        space, topology = self._trial.space, self._trial.topology
        for name in to.nodes:
            index = topology.index[name]
            domain, bit = space.locate(index)
            wanted = sum(1 << gpu for gpu in to.gpus)
            if space.used[domain] & bit and not (wanted and index in space.gpu_free and space.gpus_left(index) & wanted == wanted):
                return False
        return True

    def _move(self, move: PlanMove, to: SliceAssignment) -> list[Payload]:
        job = self._state.jobs[move.job]
        generation = self._generations[job.id] = self._generations.get(job.id, job.generation) + 1
        retake(self._trial, job, job.slices[move.slice], (to,))
        return moved(self._state, job, generation, (move.slice, to), self._why)

    def _send_away(self, move: PlanMove) -> list[Payload]:
        """All of the job stops, and waits."""
        job = self._state.jobs[move.job]
        if job.state not in ACTIVE or job.id in self._trial.stopping:
            return []
        self._trial.stopping.add(job.id)
        preempted = JobPreempted(job=job.id, generation=job.generation, by=self._plan.job, reason=self._why)
        nodes = tuple(sorted(job.held_nodes))
        stop = StopRequested(job=job.id, generation=job.generation, nodes=nodes, after=AfterStop.WAITING, reason=self._why)
        return [preempted, *stop_work(self._state, stop)]

    # ---- its end

    def _close(self) -> list[Payload]:
        """All have left: from here on only what is for the job stays kept, and it has to fit."""
        kept = self._trial.kept[self._plan.job]
        if kept.nodes != self._plan.nodes:
            return self._reserve(self._plan.nodes)
        if len(self._known.ended) < len(self._plan.moves) or self._plan.aim not in WAITING_AIMS:
            return []
        job = self._state.jobs[self._plan.job]
        outcome = self._trial.place(job.request, job)
        return self._abort(f"job {job.id} does not fit after all") if isinstance(outcome, Refusal) else []

    def _abort(self, why: str) -> list[Payload]:
        """The plan ends. What has been freed, or is about to be, stays kept for a job that waits."""
        ended = DefragAborted(plan=self._known.id, status=PlanStatus.ABORTED, reason=why)
        if self._plan.job not in self._trial.kept or self._known.asked_at is None:
            return [ended]
        gone = {name for step, move in enumerate(self._plan.moves) if step in self._begun | self._ended for name in move.nodes}
        nodes = self._state.nodes
        left = tuple(
            name for name in self._plan.nodes if name in nodes and nodes[name].placeable and (name in gone or not self._holders(name))
        )
        if not gone or not left or self._plan.aim is PlanAim.DOMAINS or is_over(self._state, self._plan):
            return [*self._free(why), ended]
        return [ended] if self._trial.kept[self._plan.job].nodes == left else [*self._reserve(left), ended]

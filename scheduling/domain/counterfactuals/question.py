"""One job's question, "what would start me?", and the only two ways in which an answer is tested.

Both work on forks and never touch the state. `fits` asks placement alone and is cheap: it is for searching. `starts` runs the pass: jobs
ahead of this one take what they can first, as they would in truth. No answer is given that `starts` has not borne out.

A job of which a slice has lost nodes and has no place asks the same: what would let it go on? Then placement is that of its lost slots, and
the jobs ahead are those that lack nodes, too, and are more urgent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import TypeVar

from clusters.domain.decision import Refusal
from clusters.domain.ids import Instant
from clusters.domain.job_events import JobPlaced
from clusters.domain.jobs import JobRequest
from clusters.domain.state import ClusterState, Job
from scheduling.domain.forecast import Release, give
from scheduling.domain.limits import limit_of, planned_end
from scheduling.domain.moving import Work, work_by_domain
from scheduling.domain.preemption import gpus_held
from scheduling.domain.queue import place_steps
from scheduling.domain.quotas import Quotas, gpus_asked
from scheduling.domain.recovery import recover, recover_job, recovered
from scheduling.domain.reservations import expire, make_way
from scheduling.domain.stalls import is_stalled
from scheduling.domain.trial import Trial

#: Placements tried for one kind of answer, a fraction of a millisecond each.
MOST_TRIES = 150
#: Passes run for one kind of answer, a few milliseconds each where many jobs wait.
MOST_PASSES = 5

T = TypeVar("T")
#: What is different in a what-if: it changes the trial's space before anything is placed.
Change = Callable[[Trial], None]


class Kind(StrEnum):
    """What would have to be different."""

    RELEASE = "release"  # nobody held the job any more
    TIME = "time"  # the time had come before which it does not start, or go on
    AFTER = "after"  # the jobs that it comes after had finished
    QUOTA = "quota"  # its team, or those that lend to it, used less
    REPAIR = "repair"  # nodes were back in service
    OPEN = "open"  # a rack took work again
    END = "end"  # running jobs had ended
    MOVE = "move"  # running work was elsewhere
    PREEMPT = "preempt"  # running work of less priority waited instead
    PLAN = "plan"  # a plan that there is was carried out
    SPACE = "space"  # what is kept for others was anybody's again
    SLICE = "slice"  # its slices were smaller
    SIZE = "size"  # it asked for less
    POLICY = "policy"  # a setting of the policy was another


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """Something that would let the job start, proven on a fork of the state."""

    kind: Kind
    text: str  # one sentence without its first capital and its full stop
    params: Mapping[str, object] = field(default_factory=dict)  # what to do to make it true, by kind
    cost_gpu_hours: float | None = None  # work that would be done again, where making it true costs some
    at: Instant | None = None  # when it comes true by itself, as far as can be said


class Shared:
    """What the answers of all kinds to one job's question look up, each once."""

    def __init__(self, state: ClusterState, job: Job, now: Instant) -> None:
        self._state = state
        self._job = job
        self._now = now
        self.releases: dict[str, Release] = {}
        self.settled: Trial | None = None

    @cached_property
    def by_end(self) -> list[tuple[Instant, Job]]:
        """The other jobs that hold nodes, by when they give them back."""
        others = (job for job in self._state.holders.values() if job is not self._job)
        held = ((planned_end(job, self._state.policy, self._now), job) for job in others)
        return sorted(held, key=lambda pair: (pair[0], pair[1].seq))

    @cached_property
    def work(self) -> dict[str, list[Work]]:
        """The slices of all jobs, by their domains."""
        return work_by_domain(self._state)


class Question:
    """What would start this job? One for each kind of answer: each has its own bounds."""

    def __init__(self, state: ClusterState, job: Job, now: Instant, shared: Shared | None = None) -> None:
        self.shared = Shared(state, job, now) if shared is None else shared
        self.state = state
        self.job = job
        self.now = now
        self.tries = MOST_TRIES
        self.passes = MOST_PASSES

    @property
    def stalled(self) -> bool:
        """Whether the job runs, and a slice of it lacks nodes."""
        return is_stalled(self.job)

    @property
    def would(self) -> str:
        """What the job would do, with the words before it."""
        return "it would go on" if self.stalled else "it would start"

    @property
    def will(self) -> str:
        """The same of what comes by itself."""
        return "it goes on" if self.stalled else "it starts"

    @property
    def request(self) -> JobRequest:
        """What the job asks for."""
        return self.job.request

    def fork(self, change: Change | None = None, *, at: Instant | None = None) -> Trial:
        """The state as it is, or as it would be with the change, now or later; by then, what has a time limit has run to it."""
        trial = Trial(self.state, self.now if at is None else at)
        trial.releases = self.shared.releases
        if change is not None:
            change(trial)
        if at is not None:
            over = (self.state.jobs[name] for name in sorted(self.state.limited - trial.stopping))
            gone([job for job in over if (limit := limit_of(job)) is not None and limit <= at])(trial)
        return trial

    def fits(self, change: Change | None = None) -> bool:
        """Whether the change makes room for the job, and its team may have so much; no, once the bound is reached."""
        return self._may_try() and self.has_room(self.fork(change))

    def fits_in(self, trial: Trial, request: JobRequest) -> bool:
        """The same for another request in a space that is as it should be already."""
        return self._may_try() and self._room(trial, request)

    def has_room(self, trial: Trial) -> bool:
        """Whether the job has room in this trial, which is spent by asking."""
        return recover_job(trial, self.job).lacks is None if self.stalled else self._room(trial, self.request)

    def starts(self, change: Change | None = None, *, at: Instant | None = None, likely: bool = False) -> bool:
        """Whether the pass places the job, in its turn, once the change is made; no, once the bound is reached.

        Unless it is `likely`, a pass that keeps nothing for those ahead is run first: it costs little, and mostly refuses what the real one
        does. What it refuses is not looked at further; what it places has still to be borne out.
        """
        if self.passes <= 0:
            return False
        self.passes -= 1
        trial = self.fork(change, at=at)
        if self.stalled:
            return any(job is self.job and found.lacks is None for job, found in recovered(trial))
        return (likely or self._placed_in(trial.fork(), keeping=False)) and self._placed_in(trial)

    def _placed_in(self, trial: Trial, *, keeping: bool = True) -> bool:
        """Whether the pass places the job, keeping nodes for those ahead, or not."""
        return any(event.job == self.job.id for event in placements(trial, until=self.job.id, keeping=keeping))

    @property
    def settled(self) -> Trial:
        """The space without the job, once the pass has placed what it can: another request would come after all that wait.

        It is for placing only, and the same for all kinds of answers.
        """
        if self.shared.settled is None:
            trial = self.shared.settled = self.fork(gone([self.job]) if self.stalled else None)
            trial.withdraw(self.job.id)
            for _ in placements(trial):
                pass
        return self.shared.settled

    def _may_try(self) -> bool:
        self.tries -= 1
        return self.tries >= 0

    def _room(self, trial: Trial, request: JobRequest) -> bool:
        asked = gpus_asked(request, trial.topology.usual_gpus)
        over = Quotas(trial.state, trial.given_back).refusal(request.team, asked)
        return over is None and not isinstance(trial.place(request, self.job), Refusal)

    def fitting(self, items: Sequence[T], change: Callable[[Sequence[T]], Change]) -> Iterator[T]:
        """Each of the items whose change alone makes room, in their order, found by halving.

        That finds them all, because more room never turns room into none: where a group together does not do, none of it does alone.
        """
        if not items or not self.fits(change(items)):
            return
        if len(items) == 1:
            yield items[0]
            return
        half = len(items) // 2
        yield from self.fitting(items[:half], change)
        yield from self.fitting(items[half:], change)

    def least(self, items: Sequence[T], change: Callable[[Sequence[T]], Change]) -> list[T]:
        """A few of the items whose changes together make room, none of them needless, the first ones preferred; none where all do not do.

        The first item that completes the room is one of them; then, of those before it, the first that does with it; and so on.
        """
        chosen: list[T] = []
        rest = list(items)
        if not rest or not self.fits(change(rest)):
            return []
        while not self.fits(change(chosen)):
            if self.tries <= 0:
                return list(items)
            none, enough = 0, len(rest)
            while enough - none > 1:
                half = (none + enough) // 2
                if self.fits(change([*chosen, *rest[:half]])):
                    enough = half
                else:
                    none = half
            chosen.append(rest[enough - 1])
            rest = rest[: enough - 1]
        return chosen[::-1]


def gone(jobs: Sequence[Job]) -> Change:
    """These jobs hold nothing, their domains owe no spares for them, and their teams use less."""

    def change(trial: Trial) -> None:
        for job in jobs:
            give(trial.space, trial.ends.of(job))
            trial.stopping.add(job.id)
            trial.left.add(job.id)
            team = job.request.team
            trial.given_back[team] = trial.given_back.get(team, 0) + gpus_held(trial.state, job)
        trial.forget_views()

    return change


def placements(trial: Trial, until: str = "", *, keeping: bool = True) -> Iterator[JobPlaced]:
    """What the pass would place, in its order, to the turn of a job or to the end; keeping nodes for others meanwhile, or not."""
    steps = chain(recover(trial), expire(trial), make_way(trial), place_steps(trial, telling=False, keeping=keeping, until=until))
    for event in chain.from_iterable(steps):
        if isinstance(event, JobPlaced):
            yield event

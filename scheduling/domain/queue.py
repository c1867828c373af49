"""The queue in a pass: the waiting jobs are tried turn by turn, and told why they wait.

A job that cannot be placed does not stop those behind it. Within one pass placements only take space away, so what was refused once stays
refused: each distinct request is tried once, and a refused job stands for its line. Why jobs wait is counted after all placements, so
that the reasons are those of the state that the pass leaves. They are told when the code changes, not each time; and codes that change back
and forth are told at most so often (`refusal_settle_s`), and to the first of a line only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from clusters.domain.decision import Refusal
from clusters.domain.events import Payload
from clusters.domain.ids import SECOND, Instant
from clusters.domain.job_events import JobBlocked, JobHeld, JobPlaced
from clusters.domain.queue import place_of
from clusters.domain.reservations import is_claim
from clusters.domain.state import Job
from scheduling.domain.equals import equals_before, hand_down, promise_of
from scheduling.domain.lending import place_on_spares
from scheduling.domain.placement import Placement
from scheduling.domain.preemption import Victim, candidates_for_priority, preempt, reclaim
from scheduling.domain.quotas import Standing
from scheduling.domain.reservations import place_where_promised, reserve_for
from scheduling.domain.shape import Asked, asked_of, may_borrow
from scheduling.domain.terms import QUOTA, waits_for_jobs, waits_for_time
from scheduling.domain.trial import Trial
from scheduling.domain.turns import Turn, Turns
from scheduling.domain.views import masks_of, points_of

#: So many jobs of a line are told that the reason has changed; to those behind them it is nothing yet.
RETOLD = 64
#: For so many jobs a pass looks for work of lower priority that makes room.
MOST_SEARCHES = 4
#: Below those of any job.
NO_POINTS = -1_000_000


@dataclass(slots=True, kw_only=True)
class _Refused:
    """Lines that ask for the same, and why it was refused."""

    refusal: Refusal
    after: int  # placements of this pass before that
    turns: list[Turn]


class _Pass:
    """What one pass has found out so far."""

    def __init__(self, trial: Trial, *, keeping: bool = True, whole: bool = True) -> None:
        self.trial = trial
        self.turns = Turns(trial, _settled(trial) if whole else None)
        self.keeping = keeping  # whether room is made and nodes are kept for the jobs that it refuses
        self.settled = _settled(trial)
        self.placed = 0
        self.refused: dict[tuple[Asked, int, bool], _Refused] = {}
        self.promised: dict[str, tuple[_Refused, Turn]] = {}  # jobs that nodes were kept for already, and that were refused
        self.over_quota: list[tuple[Turn, Standing]] = []
        self.reclaimed = False  # once in a pass: what it frees shows only in the next
        self.candidates: list[Victim] | None = None  # who may have to make room for a higher priority, once somebody asks
        self.lowest: int | None = None  # their lowest points
        self.searches = 0

    def is_over_quota(self, turn: Turn) -> bool:
        """Whether its team may not have so much now, which is noted."""
        short = self.turns.quotas.short(turn.team, turn.asked)
        if short is not None and turn.refusal is None:
            self.over_quota.append((turn, short))
        return short is not None

    def try_turn(self, turn: Turn) -> Iterator[list[Payload]]:
        """Place the job whose turn it is, or note why not and what is kept for it."""
        job = turn.job
        if turn.refusal is not None:
            yield from self._keep_space(turn, turn.refusal)
            return
        closed = self.trial.views.closed_to(job.request, job)
        key = (asked_of(job.request), closed, may_borrow(self.trial.policy, job.request))
        known = self.refused.get(key)
        if known is not None and job.id not in self.trial.state.reservations:
            known.turns.append(turn)
            yield from self._keep_space(turn, known.refusal)
            return
        outcome = self._place(job)
        lent = place_on_spares(self.trial, job) if isinstance(outcome, Refusal) else None
        if lent is not None:
            outcome = lent[0]
        if isinstance(outcome, Refusal):
            group = self.refused.setdefault(key, _Refused(refusal=outcome, after=self.placed, turns=[]))
            group.turns.append(turn)
            if job.id in self.trial.state.reservations:  # its turn is for it alone
                self.promised[job.id] = (group, turn)
            yield from self._keep_space(turn, outcome)
            return
        if lent is None:
            yield self._start(turn, outcome, self._waiting_equals(turn))
        else:
            yield [*self._start(turn, outcome, []), lent[1]]

    def _start(self, turn: Turn, placement: Placement, before: list[str]) -> list[Payload]:
        """The job starts there; or the first of its equals before it, and each of the others takes the place of the one before it."""
        trial, handed = self.trial, [*before[1:], turn.job.id]
        promise = promise_of(trial.kept[before[0]]) if before else None
        if before:
            turn = self._change_places(turn, before[0])
        job = turn.job
        trial.start(job, placement)
        self.placed += 1
        self.turns.placed(turn)
        placed = JobPlaced(job=job.id, generation=job.generation + 1, slices=placement)
        return [placed] if promise is None else [placed, *hand_down(trial, handed, promise)]

    def _change_places(self, turn: Turn, name: str) -> Turn:
        """The turn of a job that was refused, which this one takes its place among the refused for."""
        group, first = self.promised[name]
        group.turns[group.turns.index(first)] = turn
        self.promised[turn.job.id] = (group, turn)
        return first

    def _waiting_equals(self, turn: Turn) -> list[str]:
        """The equals of the job whose turns came before and that wait on, from the first that may start in its place."""
        kept = self.trial.kept.get(turn.job.id)
        names = equals_before(self.trial, turn.job, 0, kept.starts_at) if kept is not None and not is_claim(kept) else []
        while names and (names[0] not in self.promised or self.turns.quotas.refusal(self._team(names[0]), turn.asked)):
            names.pop(0)
        return names

    def _team(self, name: str) -> str:
        return self.trial.state.jobs[name].request.team

    def _place(self, job: Job) -> Placement | Refusal:
        """Where the job would run now; where others made room for it, or it is promised nodes, also there, whatever came beside them."""
        trial = self.trial
        outcome = trial.place(job.request, job)
        kept = trial.kept.get(job.id)
        if kept is None or not isinstance(outcome, Refusal):
            return outcome
        space = trial.views.space(trial.views.closed_to(job.request, job)).fork()
        if not is_claim(kept):
            return outcome if trial.now < kept.starts_at else place_where_promised(trial, space, job, kept)
        for domain in masks_of(space, kept.nodes):
            for want in space.wants[domain]:  # what came there since the claim has none to its nodes, not even as spares
                space.drop_want(domain, want)
        return trial.place_in(space, job.request)

    def _keep_space(self, turn: Turn, refusal: Refusal) -> Iterator[list[Payload]]:
        """What others owe the team of the refused job, and what is kept for it; the next of its line then has its turn for that, too."""
        if not self.keeping:  # what was kept before stands
            if turn.job.id in self.trial.kept:
                self.trial.pass_by(turn.job.id)
                self.turns.go_on(turn, refusal)
            return
        if not self.reclaimed and (plan := reclaim(self.trial, self.turns.quotas, turn.job, turn.asked) or self._preempt(turn)):
            self.reclaimed = True
            yield plan
            return
        if events := list(reserve_for(self.trial, turn.job, refusal)):
            yield events
        if turn.job.id in self.trial.kept:
            self.turns.go_on(turn, refusal)

    def _preempt(self, turn: Turn) -> list[Payload]:
        """What makes room for the job by its priority; looked for a few jobs in a pass only, those whose turns come first."""
        policy, job = self.trial.policy, turn.job
        if self.candidates is None:
            self.candidates = candidates_for_priority(self.trial)
            points = (NO_POINTS if one.is_probe else points_of(policy, one.job.request, one.job) for one in self.candidates)
            self.lowest = min(points, default=None)
        if self.lowest is None or points_of(policy, job.request, job) < self.lowest or self.searches == MOST_SEARCHES:
            return []
        self.searches += 1
        quotas = self.turns.quotas
        borrows = quotas.borrows(job.request.team, turn.asked)
        return preempt(self.trial, job, [one for one in self.candidates if not (borrows and quotas.is_within(one.job.request.team))])

    def tell(self) -> Iterator[JobBlocked]:
        """Why the others wait."""
        for turn, short in self.over_quota:
            if turn.line.is_news(QUOTA, self.settled):
                yield from _tell(turn, self.trial, short.refusal(turn.asked))
        for group in self.refused.values():
            yield from self._tell_group(group)
        yield from self._tell_held()

    def _tell_group(self, group: _Refused) -> Iterator[JobBlocked]:
        if not any(turn.line.is_news("", self.settled) for turn in group.turns):
            return  # whatever the code is by now
        refusal = group.refusal
        request = group.turns[0].job.request
        if group.after < self.placed:
            outcome = self.trial.place(request, group.turns[0].job)
            refusal = outcome if isinstance(outcome, Refusal) else refusal
        among = (turn for turn in group.turns if turn.line.is_news(refusal.code, self.settled))
        news = [turn for turn in among if any(_news(turn, self.trial, refusal.code))]
        if news:  # only then is all counted in the whole state
            refusal = self.trial.final(request, refusal, group.turns[0].job)
        for turn in news:
            yield from _tell(turn, self.trial, refusal)

    def _tell_held(self) -> Iterator[JobBlocked]:
        """Those that have no turn yet are told so once."""
        state = self.trial.state
        for name in sorted(state.queue.aside, key=lambda name: state.jobs[name].seq):
            job = state.jobs[name]
            if not job.blocked and name not in state.orphaned:
                yield _blocked(job, waits_for_jobs(job.awaits))
        for line, start in self.turns.early:
            yield from (_blocked(state.jobs[name], waits_for_time(start)) for name in line.fresh)


def place_steps(trial: Trial, *, telling: bool = True, keeping: bool = True, until: str = "") -> Iterator[list[Payload]]:
    """JobPlaced in queue order, each taken by the trial before the next job is looked at; then JobBlocked. One step is one whole.

    Before all that, jobs that waited for others that did not finish are held. A what-if tells nobody, may end with a job's turn, and
    may leave what is kept for others as it is.
    """
    for name, reason in sorted(trial.state.orphaned.items()):
        if name in trial.state.queue.aside:
            yield [JobHeld(job=name, reason=reason)]
    attempt = _Pass(trial, keeping=keeping, whole=not until)
    while (turn := attempt.turns.pop()) is not None:
        name = turn.job.id
        if not attempt.is_over_quota(turn):
            yield from attempt.try_turn(turn)
        if name == until:
            return
    for event in attempt.tell() if telling else ():
        yield [event]


def place_waiting(trial: Trial) -> Iterator[Payload]:
    """The same, event by event."""
    return chain.from_iterable(place_steps(trial))


def _settled(trial: Trial) -> Instant:
    """Codes told up to then may be told otherwise now."""
    return trial.now - trial.policy.refusal_settle_s * SECOND


def _news(turn: Turn, trial: Trial, code: str) -> Iterator[Job]:
    """The jobs of the turn, from the refused one on, to which the code is worth telling: the new ones, and the first of the others."""
    jobs, claims = trial.state.jobs, trial.state.reservations
    line, alone = turn.line, turn.job.id in claims
    for name in line.fresh:
        if name == turn.job.id or (not alone and name not in claims and place_of(jobs[name]) > turn.places[turn.next]):
            yield jobs[name]
    if not line.codes.keys() - {code}:
        return
    settled = _settled(trial)
    for _, _, name in turn.places[turn.next : turn.next + RETOLD]:
        job = jobs[name]
        if job.blocked_since <= settled and job.blocked not in ("", code):
            yield job


def _tell(turn: Turn, trial: Trial, refusal: Refusal) -> Iterator[JobBlocked]:
    yield from (_blocked(job, refusal) for job in _news(turn, trial, refusal.code))


def _blocked(job: Job, refusal: Refusal) -> JobBlocked:
    return JobBlocked(job=job.id, code=refusal.code, counts=refusal.counts)

"""Whose turn it is: the waiting jobs by points, one after another.

A job's points are those of its class, its own priority, and the ageing of its class for each hour that it has waited. Two things take some
away: jobs by which their team would borrow beyond its quota, and past use of the team where fair share is on, by its part in the use of all
teams. Both are bounded, so that with the classes of a new cluster no job falls behind the class below, and ageing makes up for them: what
waits comes to its turn. Of equal points, who has waited longer goes first, then the order of the log: the order is total.

Everything is counted in whole numbers, a point as `HOUR` parts, so that every replay comes to the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from clusters.domain.decision import Refusal
from clusters.domain.ids import HOUR, Instant
from clusters.domain.queue import Line, Place, place_of
from clusters.domain.setting import QueueOrder
from clusters.domain.state import Job
from clusters.domain.teams import PriorityClass, class_of
from scheduling.domain.quotas import Quotas, gpus_asked
from scheduling.domain.terms import QUOTA
from scheduling.domain.trial import Trial

#: Points that borrowing costs.
BORROWING = 40
#: Points that it costs to have used all that was used lately; half of it, half of them.
SHARE = 40

Key = tuple[int, int, int, int]


class Turn:
    """Jobs that are alike, from one of them on."""

    __slots__ = ("asked", "borrows", "job", "line", "next", "places", "rank", "refusal", "team")

    def __init__(self, line: Line, places: Sequence[Place], job: Job, rank: PriorityClass, asked: int) -> None:
        self.line = line
        self.places = places
        self.next = 0  # the place of `job` among them
        self.job = job
        self.rank = rank
        self.asked = asked  # GPUs
        self.team = job.request.team
        self.borrows = False  # whether its points are those of a team that would borrow for it
        self.refusal: Refusal | None = None  # of those before it in the line: its turn is for what may be kept for it


class Turns:
    """The turns of one pass. Teams' use grows as jobs are placed, so that the points of what waits can only fall.

    So does what a team may have: who is refused for its quota at first is refused in its turn. With `told_by`, lines of which nothing else
    would be told than up to then get no turn.
    """

    def __init__(self, trial: Trial, told_by: Instant | None = None) -> None:
        self.quotas = Quotas(trial.state, trial.given_back)
        self._jobs = trial.state.jobs
        self._now = trial.now
        self._policy = trial.policy
        self._by_size = trial.policy.queue_order is QueueOrder.SIZE
        self._gpus = trial.topology.usual_gpus
        self._told_by = told_by
        self._quoted = bool(trial.policy.quotas)  # else no points depend on what is placed
        self._shares = _shares(trial)
        self._classes: dict[str, PriorityClass] = {}
        self._heap: list[tuple[Key, Turn]] = []
        self.early: list[tuple[Line, Instant]] = []  # lines that are not to start yet, and when they are
        self._withdrawn = trial.withdrawn
        claims = _claims(trial)
        for line in trial.state.queue.lines.values():
            self._open(line, claims.get(line) if claims else None)
        heapify(self._heap)
        self.early.sort(key=lambda early: early[0].jobs[0])

    def pop(self) -> Turn | None:
        """The next turn; None when all have had theirs."""
        heap = self._heap
        while heap:
            _, turn = heappop(heap)
            if not self._quoted or turn.borrows == self.quotas.borrows(turn.team, turn.asked):
                return turn
            key = self._key(turn)  # it has fallen since it was put there
            if not heap or key <= heap[0][0]:
                return turn
            heappush(heap, (key, turn))
        return None

    def placed(self, turn: Turn) -> None:
        """Its job has been placed: the next one of its line waits for a turn."""
        self.quotas.take(turn.team, turn.asked)
        turn.next += 1
        if turn.next < len(turn.places):
            turn.job = self._jobs[turn.places[turn.next][2]]
            heappush(self._heap, (self._key(turn), turn))

    def go_on(self, turn: Turn, refusal: Refusal) -> None:
        """Its job was refused, and nodes are kept for it: the next one of its line waits for a turn to have nodes kept, too."""
        place = turn.next + 1
        if place < len(turn.places):
            rest = Turn(turn.line, turn.places, self._jobs[turn.places[place][2]], turn.rank, turn.asked)
            rest.next, rest.refusal = place, refusal
            heappush(self._heap, (self._key(rest), rest))

    def _open(self, line: Line, claimants: set[str] | None) -> None:
        """The line waits for a turn, and each of its jobs that has nodes kept for it by itself: those are not for the others."""
        first = self._jobs[line.jobs[0][2]]
        start = first.request.not_before
        if start is not None and start > self._now:
            self.early.append((line, start))
            return
        asked = gpus_asked(first.request, self._gpus)
        if self._told_by is not None and self.quotas.short(first.request.team, asked) and not line.is_news(QUOTA, self._told_by):
            return
        places: Sequence[Place] = line.jobs
        if claimants or self._withdrawn:
            apart = (claimants or set()) | self._withdrawn
            for place in (place for place in line.jobs if claimants and place[2] in claimants):
                self._push(line, [place], asked)
            places = [place for place in line.jobs if place[2] not in apart]
        if places:
            self._push(line, places, asked)

    def _push(self, line: Line, places: Sequence[Place], asked: int) -> None:
        job = self._jobs[places[0][2]]
        name = job.request.priority_class
        rank = self._classes.get(name)
        if rank is None:
            rank = self._classes[name] = class_of(self._policy.classes, name)
        turn = Turn(line, places, job, rank, asked)
        self._heap.append((self._key(turn), turn))

    def _key(self, turn: Turn) -> Key:
        job, rank = turn.job, turn.rank
        waited = self._now - job.aged_from
        points = (rank.priority + job.priority) * HOUR + (rank.ageing * waited if waited > 0 else 0)
        if self._shares:
            points -= self._shares.get(turn.team, 0)
        if self._quoted:
            turn.borrows = self.quotas.borrows(turn.team, turn.asked)
            if turn.borrows:
                points -= BORROWING * HOUR
        if self._by_size:
            return (-(points // HOUR), turn.asked, job.aged_from, job.seq)
        return (-points, job.aged_from, job.seq, 0)


def in_order(trial: Trial, most: int | None = None) -> list[str]:
    """The waiting jobs in the order in which they have their turns, as if each were placed; those without a turn now come last."""
    turns = Turns(trial)
    names: list[str] = []
    while (most is None or len(names) < most) and (turn := turns.pop()) is not None:
        names.append(turn.job.id)
        turns.placed(turn)
    if most is None or len(names) < most:
        known = set(names)
        rest = (trial.state.jobs[name] for name in trial.state.queue if name not in known)
        names += [name for _, _, name in sorted(map(place_of, rest))]
    return names[:most]


def _claims(trial: Trial) -> dict[Line, set[str]]:
    """The jobs that have nodes kept for them, by line."""
    claims: dict[Line, set[str]] = {}
    for name in trial.kept:
        line = trial.state.jobs[name].line if name in trial.state.jobs else None
        if line is not None:
            claims.setdefault(line, set()).add(name)
    return claims


def _shares(trial: Trial) -> dict[str, int]:
    """What past use costs each team, in parts of points."""
    half_life = trial.policy.fair_share_half_life_h
    if not half_life:
        return {}
    spent = {team: use.spent_at(trial.now, half_life) for team, use in trial.state.usage.teams.items()}
    total = sum(spent.values())
    return {team: SHARE * HOUR * part // total for team, part in spent.items()} if total else {}

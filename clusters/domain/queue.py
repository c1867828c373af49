"""The jobs that wait, in lines of jobs that are alike.

Jobs of one line ask for the same, on the same terms, with the same claim to go first: what is refused to the first of them is refused to
all. So a pass looks at lines and not at jobs. Within a line who has waited longest goes first; equals go in the order of the log. Jobs that
wait for other jobs to finish stand aside: they have no turn.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from clusters.domain.ids import Instant
from clusters.domain.jobs import JobRequest

if TYPE_CHECKING:
    from clusters.domain.state import Job

#: What of a request neither its placement nor its turn depends on. The priority that counts is the job's own, which may change.
_OF_ONE_JOB = frozenset({"name", "held", "checkpoint_interval_s", "recovery", "on_stall", "priority", "after"})
_alike = attrgetter(*(field.name for field in fields(JobRequest) if field.name not in _OF_ONE_JOB))

LineKey = tuple[Any, ...]
Place = tuple[Instant, int, str]


def place_of(job: Job) -> Place:
    """Where the job stands in its line: by when it would have come had it waited all the time, then by position in the log."""
    return (job.aged_from, job.seq, job.id)


class Line:
    """Waiting jobs that are alike."""

    __slots__ = ("codes", "fresh", "jobs", "key")

    def __init__(self, key: LineKey) -> None:
        self.key = key
        self.jobs: list[Place] = []  # sorted: the first is the next to be placed
        self.fresh: dict[str, None] = {}  # those that have not been told yet why they wait
        self.codes: dict[str, list[Instant]] = {}  # the codes that the others were told -> when each was, sorted

    def note(self, job: Job) -> None:
        """What the job has been told, if it has."""
        if job.blocked:
            insort(self.codes.setdefault(job.blocked, []), job.blocked_since)
        else:
            self.fresh[job.id] = None

    def forget(self, job: Job) -> None:
        """What it was told no longer counts."""
        if not job.blocked:
            self.fresh.pop(job.id, None)
            return
        told = self.codes[job.blocked]
        del told[bisect_left(told, job.blocked_since)]
        if not told:
            del self.codes[job.blocked]

    def is_news(self, code: str, settled: Instant) -> bool:
        """Whether the code may be worth telling: some have been told none, or another one up to that time."""
        if self.fresh:
            return True
        for known, told in self.codes.items():  # noqa: SIM110 - asked of each line in each pass, and a generator costs as much again
            if told[0] <= settled and known != code:
                return True
        return False


class Queue:
    """All jobs that wait, each in a line or aside."""

    __slots__ = ("aside", "lines")

    def __init__(self) -> None:
        self.lines: dict[LineKey, Line] = {}
        self.aside: dict[str, None] = {}  # these wait for other jobs, or for being held because one of those failed

    def add(self, job: Job, *, aside: bool) -> None:
        """The job waits."""
        if aside:
            self.aside[job.id] = None
            return
        key = (job.priority, *_alike(job.request))
        line = self.lines.get(key)
        if line is None:
            line = self.lines[key] = Line(key)
        insort(line.jobs, place_of(job))
        line.note(job)
        job.line = line

    def drop(self, job: Job) -> bool:
        """The job waits no longer; whether it did."""
        line = job.line
        if line is None:
            return self.aside.pop(job.id, self) is None
        del line.jobs[bisect_left(line.jobs, place_of(job))]
        line.forget(job)
        if not line.jobs:
            del self.lines[line.key]
        job.line = None
        return True

    def __len__(self) -> int:
        return sum(len(line.jobs) for line in self.lines.values()) + len(self.aside)

    def __bool__(self) -> bool:
        return bool(self.lines or self.aside)

    def __iter__(self) -> Iterator[str]:
        """The jobs, line by line: not in the order in which they are placed."""
        for line in self.lines.values():
            for _, _, name in line.jobs:
                yield name
        yield from self.aside

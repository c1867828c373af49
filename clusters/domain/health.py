"""Health of one node: marks per flag and source, and the condition they add up to.

Each (flag, source) is a register of its own in which the report of highest rank wins, so sources never overwrite each other and late or
repeated reports of one source change nothing. Rank is the source's own counter where it keeps one, else the time it gives. What people
and imports say is never late: it was worked out on the log as it stood, so its place there is its rank, whatever became of the wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusters.domain.books import Condition
from clusters.domain.ids import Instant

#: Sources of people begin so; the rest is the user's name.
PERSON = "user:"

#: The source of all facts that imports append.
IMPORT_SOURCE = "import"


#: The source of all decisions; the flags that verdicts set are its own.
SCHEDULER = "scheduler"

#: Verdicts that a node is remembered by.
MAX_VERDICTS = 16


def is_never_late(source: str) -> bool:
    """Whether the source speaks on the log as it stands."""
    return source in (IMPORT_SOURCE, SCHEDULER) or source.startswith(PERSON)


class Flag(StrEnum):
    """What may be said of a node, in order of precedence."""

    ABSENT = "absent"
    UNREACHABLE = "unreachable"
    FAILED = "failed"
    IN_REPAIR = "in_repair"
    QUARANTINED = "quarantined"
    DRAINING = "draining"
    SUSPECT = "suspect"
    DEGRADED = "degraded"


CONDITION_OF: dict[Flag, Condition] = {
    Flag.ABSENT: Condition.ABSENT,
    Flag.UNREACHABLE: Condition.UNKNOWN,
    Flag.FAILED: Condition.FAILED,
    Flag.IN_REPAIR: Condition.IN_REPAIR,
    Flag.QUARANTINED: Condition.QUARANTINED,
    Flag.DRAINING: Condition.DRAINING,
    Flag.SUSPECT: Condition.SUSPECT,
    Flag.DEGRADED: Condition.DEGRADED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What one source last said of one flag."""

    on: bool
    rank: int
    since: Instant
    reason: str = ""
    owner: str = ""  # of a quarantine
    exit_rule: str = ""  # of a quarantine
    evidence: tuple[str, ...] = ()


Marks = dict[tuple[Flag, str], Mark]

OFF = Mark(on=False, rank=-1, since=0)


def condition_of(marks: Marks) -> Condition:
    """The first condition that holds."""
    flags = {flag for (flag, _), mark in marks.items() if mark.on}
    return next((condition for flag, condition in CONDITION_OF.items() if flag in flags), Condition.HEALTHY)


def set_mark(marks: Marks, flag: Flag, source: str, mark: Mark) -> bool:
    """Let the source say something; False when it has said something of higher rank before."""
    known = marks.get((flag, source), OFF)
    if mark.rank < known.rank:
        return False
    marks[flag, source] = mark
    return True


def clear_flag(marks: Marks, flag: Flag) -> None:
    """Clear the flag for every source: repair, release and undrain end it whoever set it."""
    for (marked, source), mark in list(marks.items()):
        if marked is flag and mark.on:
            marks[marked, source] = Mark(on=False, rank=mark.rank, since=mark.since)

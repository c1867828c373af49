"""What there is to know of a setting of the policy, and the words that some of them choose from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: NVLink domains of 576 GPUs are announced; a wider bound costs nothing.
MAX_SLICE = 1024

DAY_S = 86_400

#: The most recoveries of a job in an hour that a limit may name, and so the most that are remembered of one job.
MAX_RECOVERIES = 1000


class SparesScope(StrEnum):
    """Which domains owe spares."""

    WITH_JOBS = "with_jobs"  # those in which a multi-node job runs
    ALL = "all"


class QueueOrder(StrEnum):
    """In which order jobs of one priority are tried."""

    AGE = "age"  # the oldest first
    SIZE = "size"  # the smallest first, then the oldest


class Backfill(StrEnum):
    """What may run ahead of a job that has no room yet."""

    OFF = "off"  # whatever fits: nothing is kept for large jobs
    EASY = "easy"  # what does not delay the first jobs that wait, see `reservation_depth`
    CONSERVATIVE = "conservative"  # what delays none of the jobs ahead of it


class Preemption(StrEnum):
    """Whose work may be stopped for a job of higher priority that waits."""

    OFF = "off"
    LOWER = "lower"
    EQUAL = "equal"  # of the same priority, too, once it has run for the cool-down


class DefragMode(StrEnum):
    """What the defragmenter may do by itself."""

    OFF = "off"
    SUGGEST = "suggest"
    AUTO = "auto"


#: What a setting may hold; None = left to the program, where the setting allows it.
Value = int | bool | str | None


#: The values of a new cluster; `policy` fills it from the fields of `Policy`.
DEFAULTS: dict[str, Value] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What there is to know of one setting: a number with its range, a word of a few, or a switch."""

    name: str  # the field of Policy
    label: str
    group: str
    meaning: str
    unit: str = ""
    low: int = 0
    high: int = 0
    choices: type[StrEnum] | None = None
    switch: bool = False
    auto: str = ""  # what None means, for a number that may be left to the program

    @property
    def number(self) -> bool:
        """Whether it is a whole number."""
        return not self.switch and self.choices is None

    @property
    def default(self) -> Value:
        """The value of a new cluster."""
        return DEFAULTS[self.name]

    @property
    def expected(self) -> str:
        """What would be right."""
        if self.choices is not None:
            return f"give one of: {', '.join(self.choices)}"
        if self.switch:
            return "give true or false"
        return f"give a whole number from {self.low} to {self.high}{', or null for auto' if self.auto else ''}"

    def holds(self, value: object) -> bool:
        """Whether the value is one that the setting may have."""
        if self.choices is not None:
            return isinstance(value, self.choices)
        if self.switch:
            return isinstance(value, bool)
        if value is None:
            return bool(self.auto)
        return type(value) is int and self.low <= value <= self.high

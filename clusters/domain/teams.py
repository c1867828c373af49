"""The tables of the policy: classes of priority, quotas of teams, and teams that plans leave alone.

A table is a setting with rows. Each is described once, in `TABLES`; page, API, guide and validation read it there, as they read `SETTINGS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clusters.domain.constraints import MAX_NAME
from clusters.domain.errors import InvalidRequest

#: The quota of each team that has no row of its own.
EVERY_OTHER = "*"

MAX_POINTS = 10_000
MAX_AGEING = 1_000
MAX_GPUS = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityClass:
    """One class of priority. A job's points are those of its class, its own priority, and what it has gained by waiting."""

    name: str
    priority: int
    ageing: int  # points gained by each hour of waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """What one team may use, and how much it may borrow of what others leave."""

    team: str
    gpus: int
    borrow: int | None = None  # the most GPUs above them; None = all that others leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Exempt:
    """A team whose work no plan moves."""

    team: str


Row = PriorityClass | Quota | Exempt
Rows = tuple[PriorityClass, ...] | tuple[Quota, ...] | tuple[Exempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table: a whole number with its range, or a name."""

    name: str  # the field of the row
    label: str
    low: int = 0
    high: int = 0
    text: bool = False
    auto: str = ""  # what None means, for a number that may be left out

    @property
    def expected(self) -> str:
        """What would be right."""
        if self.text:
            return f"give 1 to {MAX_NAME} printable characters"
        return f"give a whole number from {self.low} to {self.high}{', or null' if self.auto else ''}"

    def holds(self, value: object) -> bool:
        """Whether the value is one that the column may have."""
        if self.text:
            return isinstance(value, str) and 0 < len(value) <= MAX_NAME and bool(value.strip()) and value.isprintable()
        if value is None:
            return bool(self.auto)
        return type(value) is int and self.low <= value <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What there is to know of one table. No two of its rows have the same value in the first column."""

    name: str  # the field of Policy
    label: str
    group: str
    meaning: str
    row: type[Row]
    columns: tuple[Column, ...]
    least: int
    most: int

    def check(self, rows: Sequence[Row]) -> None:
        """Refuse rows that are too few, too many, out of range or there twice; raises InvalidRequest."""
        if not self.least <= len(rows) <= self.most:
            raise InvalidRequest(self.name, len(rows), f"give {self.least} to {self.most} rows")
        for place, row in enumerate(rows):
            for column in self.columns:
                value = getattr(row, column.name)
                if not column.holds(value):
                    raise InvalidRequest(f"{self.name}[{place}].{column.name}", value, column.expected)
        key = self.columns[0].name
        names = [getattr(row, key) for row in rows]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise InvalidRequest(f"{self.name}[{place}].{key}", name, "name each once")

    def load(self, rows: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
        """The rows whose `asdict` these are; columns that are left out have their defaults."""
        return tuple(self.row(**row) for row in rows)

    def words(self, rows: Sequence[Row]) -> str:
        """The rows as people read them, in one line."""
        return "; ".join(" ".join(self._cells(row)) for row in rows) or "none"

    def _cells(self, row: Row) -> Iterator[str]:
        for place, column in enumerate(self.columns):
            value = getattr(row, column.name)
            yield f"{column.label.lower()} {column.auto if value is None else value}" if place else str(value)


#: All classes gain alike, so that two jobs that wait never change places; 25 hours make up for one class.
DEFAULT_CLASSES = (
    PriorityClass(name="standard", priority=0, ageing=4),
    PriorityClass(name="production", priority=100, ageing=4),
    PriorityClass(name="batch", priority=-100, ageing=4),
)

CLASSES = Table(
    name="classes",
    label="Priority classes",
    group="Queue",
    row=PriorityClass,
    least=1,
    most=32,
    columns=(
        Column(name="name", label="Name", text=True),
        Column(name="priority", label="Priority", low=-MAX_POINTS, high=MAX_POINTS),
        Column(name="ageing", label="Ageing", high=MAX_AGEING),
    ),
    meaning="A job's points are those of its class, its own priority, and the ageing of its class for each hour that it has waited. "
    "The most points go first. A job that names no class has the first one. Without ageing the jobs of a low class can wait for ever.",
)

QUOTAS = Table(
    name="quotas",
    label="Quotas of teams",
    group="Queue",
    row=Quota,
    least=0,
    most=1_000,
    columns=(
        Column(name="team", label="Team", text=True),
        Column(name="gpus", label="GPUs", high=MAX_GPUS),
        Column(name="borrow", label="Borrows at most", high=MAX_GPUS, auto="all that is left"),
    ),
    meaning="The GPUs that a team may use, and how many more it may borrow of what the quotas of others leave. The team * stands for each "
    "that has no row; those lend nothing. A team without a quota may use all. "
    "Who waits within its quota gets back what others have borrowed.",
)

EXEMPT = Table(
    name="exempt",
    label="Exempt teams",
    group="Defragmentation",
    row=Exempt,
    least=0,
    most=1_000,
    columns=(Column(name="team", label="Team", text=True),),
    meaning="Teams whose work is never moved, nor made to wait, so that there is room for another.",
)

TABLES: tuple[Table, ...] = (CLASSES, QUOTAS, EXEMPT)


def class_of(classes: Sequence[PriorityClass], name: str) -> PriorityClass:
    """The class of that name; the first one for a job that names none, or one that there is no more."""
    return next((known for known in classes if known.name == name), classes[0])

"""Signals on their way in, and what was wrong with the rest.

A parser takes whatever comes and never raises: each part of the input becomes a signal, says nothing, or is told as a problem with its
place. All texts are made safe to store and show here, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from clusters.domain.ids import LAST_INSTANT, SECOND, Instant
from clusters.domain.signals import SignalKind, SignalScope
from clusters.inventory.names import is_name, plain

MAX_CODE = 80
MAX_TEXT = 200
MAX_EVIDENCE = 8
#: Problems that are told; further ones are counted.
MAX_PROBLEMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """What somebody says of a node; the words are those of SignalReceived."""

    node: str
    code: str
    kind: SignalKind
    scope: SignalScope = SignalScope.NODE
    check: str = ""
    component: str = ""
    text: str = ""
    action: str = ""
    lasting: bool = False
    evidence: tuple[str, ...] = ()
    occurred_at: Instant | None = None  # wall time; None: not told, so now
    id: str = ""  # the source's own, by which a repeated delivery is known; "" where it has none
    seq: int | None = None  # the source's own counter, if it keeps one


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A part of the input that is no signal, and why."""

    position: str  # "alert 3", "line 17"; "" for all of it
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What an input came to."""

    signals: tuple[Signal, ...] = ()
    problems: tuple[Unread, ...] = ()


@dataclass(slots=True)
class Collector:
    """Collects what a parser finds."""

    signals: list[Signal] = field(default_factory=list)
    problems: list[Unread] = field(default_factory=list)
    more: int = 0  # problems that are not told

    def add(self, position: str, signal: Signal) -> None:
        """Take a signal, its texts made safe; one without a node that could exist is a problem."""
        if not is_name(signal.node):
            self.refuse(position, f"no node is named (found {plain(signal.node, 60)!r})" if signal.node else "no node is named")
            return
        self.signals.append(
            Signal(
                node=signal.node,
                code=plain(signal.code, MAX_CODE) or "unnamed",
                kind=signal.kind,
                scope=signal.scope,
                check=plain(signal.check, MAX_CODE),
                component=plain(signal.component, MAX_CODE),
                text=plain(signal.text, MAX_TEXT),
                action=plain(signal.action, MAX_CODE),
                lasting=signal.lasting,
                evidence=tuple(plain(text, MAX_TEXT) for text in signal.evidence[:MAX_EVIDENCE]),
                occurred_at=signal.occurred_at,
                id=plain(signal.id, MAX_TEXT),
                seq=signal.seq,
            )
        )

    def refuse(self, position: str, message: str) -> None:
        """Tell that a part of the input is no signal."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Unread(position=position, message=plain(message)))
        else:
            self.more += 1

    def parsed(self) -> Parsed:
        """All of it."""
        told = (Unread(position="", message=f"and {self.more} more problems"),) if self.more else ()
        return Parsed(signals=tuple(self.signals), problems=(*self.problems, *told))


def instant_of(value: object) -> Instant | None:
    """The instant that an RFC 3339 text with a zone gives, or a number of seconds; None for anything else, and for "never"."""
    if isinstance(value, str):
        try:
            told = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        if told.tzinfo is None:
            return None
        try:
            gone = told.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        except OverflowError:  # the first day of the calendar, east of Greenwich
            return None
        micros = (gone.days * 86_400 + gone.seconds) * SECOND + gone.microseconds
    elif isinstance(value, int) and not isinstance(value, bool):
        micros = value * SECOND
    else:
        return None
    return micros if 0 < micros <= LAST_INSTANT else None


def mapping(value: object) -> dict[str, object]:
    """The value, if it is a mapping."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """The value, if it is a list."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """The value as text, if it is one or a number."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def first_text(values: dict[str, object], keys: Iterable[str]) -> str:
    """The first of the fields that has a text."""
    return next((found for key in keys if (found := text(values.get(key)))), "")

"""The payload of an event as people read it: a name and one or more lines of text for each field."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from clusters.domain.events import Payload
from clusters.inventory.names import fold

#: Fields that hold instants; all others that are numbers are numbers.
_INSTANTS = frozenset(("wall", "cluster_time", "base"))
#: Entries of a list that are shown.
MOST_ENTRIES = 40


class Line(NamedTuple):
    """One field."""

    name: str
    values: tuple[str, ...]


def payload_lines(payload: Payload) -> list[Line]:
    """All fields, in their order."""
    return [Line(field.name.replace("_", " "), _lines(field.name, getattr(payload, field.name))) for field in fields(payload)]


def _lines(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, dict):
        return tuple(f"{key}: {_text('', entry)}" for key, entry in value.items()) or ("none",)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(f"{field.name.replace('_', ' ')}: {_text(field.name, getattr(value, field.name))}" for field in fields(value))
    if isinstance(value, list | tuple) and any(is_dataclass(entry) for entry in value):
        shown = [_text("", entry) for entry in value[:MOST_ENTRIES]]
        return (*shown, f"and {len(value) - MOST_ENTRIES} more") if len(value) > MOST_ENTRIES else tuple(shown)
    return (_text(name, value),)


def _text(name: str, value: object) -> str:
    """A value in one line."""
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _INSTANTS and isinstance(value, int):
        return f"{datetime.fromtimestamp(value / 1_000_000, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, float):
        return f"{value:g}"
    if is_dataclass(value) and not isinstance(value, type):
        told = ((field.name, getattr(value, field.name)) for field in fields(value))
        return ", ".join(f"{label.replace('_', ' ')} {_text(label, part)}" for label, part in told if part not in (None, "", ()))
    if isinstance(value, list | tuple | set | frozenset):
        return _listed(name, list(value))
    return str(value)


def _listed(name: str, values: list[object]) -> str:
    """Nodes folded to ranges, which is how people name them; anything else as it is."""
    if name == "nodes":
        return f"{', '.join(fold(map(str, values)))} ({len(values)})" if values else "none"
    shown = ", ".join(_text("", value) for value in values[:MOST_ENTRIES])
    more = f" and {len(values) - MOST_ENTRIES} more" if len(values) > MOST_ENTRIES else ""
    return f"{shown}{more}" or "none"

"""Values of a parsed JSON file by name; what is wrong with one is said with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.domain.errors import InvalidRequest

#: Characters of a name; longer ones would cost time to sort.
MAX_TEXT = 500


class Fields:
    """One object of the file. Each reader gives the default where the field is missing or null, if it has a default."""

    def __init__(self, value: object, place: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidRequest(place or "file", shown(value), "give an object")
        self._values: Mapping[str, Any] = value
        self.place = place

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        value = self._given(name, default)
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise self.wrong(name, f"give a text of up to {MAX_TEXT} characters")
        return value

    def whole(self, name: str, default: int | None = None, *, low: int = 0) -> int:
        value = self._given(name, default)
        if type(value) is not int or value < low:
            raise self.wrong(name, f"give a whole number from {low}")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        value = self._given(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise self.wrong(name, "give a number from 0")
        return float(value)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._given(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "give true or false")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._given(name, ())
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) and len(item) <= MAX_TEXT for item in value):
            raise self.wrong(name, f"give a list of texts of up to {MAX_TEXT} characters")
        return tuple(value)

    def wholes(self, name: str) -> tuple[int, ...]:
        value = self._given(name, ())
        if not isinstance(value, list | tuple) or not all(type(item) is int and item > 0 for item in value):
            raise self.wrong(name, "give a list of whole numbers from 1")
        return tuple(value)

    def part(self, name: str) -> Fields:
        return Fields(self._given(name, {}), self._at(name))

    def parts(self, name: str, *, needed: bool = False) -> Iterator[Fields]:
        value = self._given(name, None if needed else ())
        if not isinstance(value, list | tuple):
            raise self.wrong(name, "give a list of objects")
        return (Fields(item, f"{self._at(name)}[{number}]") for number, item in enumerate(value))

    def names(self) -> tuple[str, ...]:
        return tuple(self._values)

    def wrong(self, name: str, expected: str) -> InvalidRequest:
        """The error for a field; to be raised."""
        return InvalidRequest(self._at(name), shown(self._values.get(name)), expected)

    def label(self, name: str) -> str | None:
        """A label as text; None where it is missing."""
        value = self._values.get(name)
        if not isinstance(value, str | int | float | None) or len(str(value)) > MAX_TEXT:
            raise self.wrong(name, f"give a text of up to {MAX_TEXT} characters")
        return None if value is None else str(value)

    def _given(self, name: str, default: object) -> Any:
        value = self._values.get(name)
        return default if value is None else value

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name


def shown(value: object) -> object:
    """A value as an error shows it, cut where it is long."""
    text = repr(value)
    return value if len(text) <= 60 else f"{text[:57]}..."

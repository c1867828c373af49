"""Reading the fields of one mapping of a native inventory; every wrong one is told with its position and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from clusters.domain.errors import InvalidRequest
from clusters.inventory.model import Problem, fatal
from clusters.inventory.names import PLACE_RULE, expand, is_place, plain


def shape(value: object) -> str:
    """What a value is, in words."""
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {plain(value, 60)!r}" if value else "empty"
    if isinstance(value, int):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a mapping"


class Fields:
    """One mapping and where it stands. Wrong values read as if they were missing, once they are told."""

    def __init__(self, position: str, item: object, problems: list[Problem], name: str = "") -> None:
        self.position = position
        self._problems = problems
        self._item: dict[str, object] = item if isinstance(item, dict) else {}
        own = self._item.get("name")
        self._name = plain(str(own), 60) if isinstance(own, str | int) else name
        if not isinstance(item, dict):
            self.refuse(f"this is {shape(item)}; give a mapping of fields")

    def refuse(self, message: str) -> None:
        """Tell what is wrong here; the file will not be imported."""
        self._problems.append(fatal(self.position, self._name, message))

    def only(self, fields: Sequence[str]) -> None:
        """Refuse all other fields: a misspelt one must not be ignored."""
        for key in self._item:
            if key not in fields:
                close = difflib.get_close_matches(key, fields, n=1)
                hint = f"did you mean {close[0]}?" if close else f"give {', '.join(fields)}"
                self.refuse(f"there is no field {plain(key, 60)!r} here; {hint}")

    def has(self, key: str) -> bool:
        """Whether the field is given, be it null."""
        return key in self._item

    def text(self, key: str) -> str:
        """One line of text; "" where it is missing."""
        value = self._item.get(key)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.refuse(f"{key} is {shape(value)}; give text")
            return ""
        return plain(str(value))

    def texts(self, key: str) -> tuple[str, ...]:
        """A text or a list of them."""
        value = self._item.get(key)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(entry, str) for entry in listed):
            self.refuse(f"{key} is {shape(value)} with other values than text; give texts")
            return ()
        return tuple(plain(str(entry)) for entry in listed)

    def name(self, key: str) -> str | None:
        """The name of a rack, domain or block; None where it is missing or null."""
        value = self._item.get(key)
        if value is None:
            return None
        text = "" if isinstance(value, bool) else str(value) if isinstance(value, str | int) else ""
        if not is_place(text):
            self.refuse(f"{key} is {shape(value)}; {PLACE_RULE}")
            return None
        return text

    def required_name(self, key: str) -> str:
        """A name that must be there."""
        if self._item.get(key) is None:
            self.refuse(f"{key} is missing; {PLACE_RULE}")
        return self.name(key) or ""

    def number(self, key: str, low: int, high: int) -> int | None:
        """A whole number in bounds; None where it is missing."""
        value = self._item.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.refuse(f"{key} is {shape(value)}; give a whole number from {low} to {high}")
            return None
        return value

    def entries(self, key: str, noun: str) -> Iterator[Fields]:
        """The mappings of a list."""
        value = self._item.get(key)
        if value is not None and not isinstance(value, list):
            self.refuse(f"{key} is {shape(value)}; give a list")
        elif value is not None:
            yield from (Fields(f"{self.position}, {noun} {number}", item, self._problems) for number, item in enumerate(value, start=1))

    def groups(self, key: str, short: str) -> Iterator[Fields]:
        """Groups of nodes: a range as text (for a mapping of `short`), a mapping that says more, or a list of both."""
        value = self._item.get(key)
        listed = value if isinstance(value, list) else [value]
        if value is None or not listed:
            what = "missing" if value is None else "empty"
            self.refuse(f"{key} is {what}; give a range like n[01-18], or a list of ranges and groups")
            return
        for number, item in enumerate(listed, start=1):
            group = item if isinstance(item, dict) else {short: item}
            position = f"{self.position}, nodes {number}" if len(listed) > 1 else self.position
            yield Fields(position, group, self._problems, self._name)

    def ranges(self, key: str) -> list[str]:
        """The names that one range or a list of ranges stands for."""
        value = self._item.get(key)
        names: list[str] = []
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, bool) or not isinstance(text, str | int):
                self.refuse(f"{key} is {shape(text)}; give a range like n[01-18]")
                continue
            try:
                names += expand(str(text))
            except InvalidRequest as error:
                self.refuse(f"{error.field} {plain(str(error.value), 60)!r}: {error.expected}")
        return names

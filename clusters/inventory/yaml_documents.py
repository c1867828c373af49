"""YAML to plain lists, dicts, strings, whole numbers, booleans and None, built from the parser's events.

The library's own constructors accept what an upload must not: the last of two equal keys wins silently, aliases can stand for more data
than memory holds, `0123`, `12:30` and `no` become other values, tags make objects. Here equal keys are refused with their position,
aliases count as what they stand for, and plain scalars follow YAML 1.2: a number only where its text is what the number prints as.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from clusters.inventory.model import WANTED, BadInventory, fatal

MAX_DEPTH = 64
#: Values of one file with aliases written out: about what a plain file of the largest permitted size can hold.
MAX_VALUES = 8_000_000

_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_NUMBER = re.compile(r"-?[1-9]\d{0,17}|0", re.ASCII)
_WORDS: dict[str, bool | None] = {"": None, "~": None}
_WORDS |= dict.fromkeys(("null", "Null", "NULL"), None) | dict.fromkeys(("true", "True", "TRUE"), True)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_CONTAINER_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def yaml_documents(text: str) -> list[object]:
    """The documents in order, an empty one as None; raises BadInventory."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        raise BadInventory([fatal(_at(mark), "", f"this is not valid YAML: {what}; {WANTED}")]) from error
    return builder.documents


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is not yet complete."""

    value: list[object] | dict[str, object]
    anchor: str | None
    key: str | None = None
    size: int = 1


@dataclass(slots=True)
class _Builder:
    documents: list[object] = field(default_factory=list)
    stack: list[_Frame] = field(default_factory=list)
    anchors: dict[str, tuple[object, int]] = field(default_factory=dict)
    total: int = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            frame = self.stack.pop()
            self._place(frame.value, frame.anchor, frame.size, event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.anchors.clear()

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            raise _refusal(event, f"the tag {event.tag} is not read; leave it out")
        frame = self.stack[-1] if self.stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            if event.value in frame.value:
                raise _refusal(event, f"the key {event.value!r} is given twice in one mapping; give it once")
            frame.key = event.value
        else:
            plain = event.implicit[0] and event.tag is None
            self._place(_resolve(event.value) if plain else event.value, event.anchor, 1, event)

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if event.tag not in _CONTAINER_TAGS:
            raise _refusal(event, f"the tag {event.tag} is not read; leave it out")
        if len(self.stack) >= MAX_DEPTH:
            raise _refusal(event, f"values are nested more than {MAX_DEPTH} deep; an inventory needs fewer than 10")
        self._refuse_as_key(event)
        self.stack.append(_Frame({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor))

    def _alias(self, event: yaml.AliasEvent) -> None:
        self._refuse_as_key(event)
        if event.anchor not in self.anchors:
            raise _refusal(event, f"the alias *{event.anchor} has no complete &{event.anchor} before it; write the value out")
        value, size = self.anchors[event.anchor]
        self._place(value, None, size, event)

    def _refuse_as_key(self, event: yaml.Event) -> None:
        if self.stack and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None:
            raise _refusal(event, "a key is a list, mapping or alias; give a plain word")

    def _place(self, value: object, anchor: str | None, size: int, event: yaml.Event) -> None:
        self.total += size if isinstance(event, yaml.AliasEvent) else 1
        if self.total > MAX_VALUES:
            raise _refusal(event, f"there are more than {MAX_VALUES:,} values with aliases written out; split the file")
        if anchor is not None:
            self.anchors[anchor] = (value, size)
        if not self.stack:
            self.documents.append(value)
            return
        frame = self.stack[-1]
        frame.size += size
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            frame.value[frame.key or ""] = value
            frame.key = None


def _resolve(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _NUMBER.fullmatch(text) else text


def _refusal(event: yaml.Event, message: str) -> BadInventory:
    return BadInventory([fatal(_at(event.start_mark), "", message)])


def _at(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""

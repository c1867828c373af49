"""Reading bodies: JSON only, small, shallow, and meaning one thing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from rest_framework.parsers import JSONParser

from frontend.api.errors import TooLarge, Unreadable

MOST_BYTES = 64 * 1024
MOST_DEPTH = 16

#: A string, or what is left of the text after a quote that is never closed: each character is looked at once.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


class StrictJSONParser(JSONParser):
    """Refuses what readers would understand differently: repeated keys, NaN, half characters."""

    most_bytes = MOST_BYTES

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        body = stream.read(self.most_bytes + 1)
        if len(body) > self.most_bytes:
            raise TooLarge(f"The body has more than {self.most_bytes // 1024} KiB; send less at a time")
        try:
            text = body.decode()
            _check_depth(text)
            value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeError:
            raise Unreadable("The body is not UTF-8, or names half a character; give JSON in UTF-8") from None
        except ValueError as error:
            raise Unreadable(f"The body is not JSON: {error}") from None
        return value


class ManyJSONParser(StrictJSONParser):
    """For lists of many objects."""

    most_bytes = 1024 * 1024


def _check_depth(text: str) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MOST_DEPTH:
            raise ValueError(f"it is nested deeper than {MOST_DEPTH} levels")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is given twice")
    return found

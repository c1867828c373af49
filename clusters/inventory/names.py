"""Names and ranges of names: what is allowed, `n[01-18]` to names and back.

Names end up in pages, addresses and shells, so they are held to what Kubernetes, Slurm and DNS share.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import product

from clusters.domain.errors import InvalidRequest
from clusters.domain.topology import natural_key

MAX_NAME = 253
#: Nodes of one file; ten times the largest fleet that is known, and a bound on what `n[1-999999999]` may cost.
MAX_NODES = 200_000
MAX_TEXT = 300

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_PARTS = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_LAST_NUMBER = re.compile(r"(.*?)(\d{1,9})(\D*)", re.ASCII)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]+")

_BOUNDS = f"beginning and ending with a letter or digit, at most {MAX_NAME} characters"
NAME_RULE = f"give letters, digits, '-', '_' and '.', {_BOUNDS}"
PLACE_RULE = f"give letters, digits, '-', '_', '.' and ':', {_BOUNDS}"
SUBDOMAIN_RULE = f"give a name that Kubernetes permits: lower-case letters, digits, '-' and '.', {_BOUNDS}"


def is_name(text: str) -> bool:
    """Whether the text may name a node, or be the value of a label."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


def is_place(text: str) -> bool:
    """Whether the text may name a rack, domain or block."""
    return is_name(text.replace(":", "."))


def is_subdomain(text: str) -> bool:
    """Whether Kubernetes permits the text as the name of a node."""
    return len(text) <= MAX_NAME and _SUBDOMAIN.fullmatch(text) is not None


def plain(text: str, limit: int = MAX_TEXT) -> str:
    """Text from outside made safe to store and show: one line, no control characters, bounded."""
    line = _UNPRINTABLE.sub(" ", text).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def expand(text: str) -> list[str]:
    """`n[01-03,7]` -> n01 n02 n03 n7, several brackets multiply; raises InvalidRequest."""
    pieces: list[list[str]] = []
    end = 0
    count = 1
    for part in _PARTS.finditer(text):
        if part.start() != end:
            break
        end = part.end()
        piece = list(_spans(text, part[1], MAX_NODES // count)) if part[1] is not None else [part[2]]
        pieces.append(piece)
        count *= max(len(piece), 1)
    if end != len(text) or not pieces:
        raise InvalidRequest("nodes", text, "give a name or a range like n[01-18] or n[1,3,5-9]; brackets come in pairs")
    names = ["".join(parts) for parts in product(*pieces)]
    for name in names:
        if not is_name(name):
            raise InvalidRequest("nodes", name, NAME_RULE)
    return names


def _spans(text: str, inside: str, room: int) -> Iterator[str]:
    for part in inside.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is None:
            raise InvalidRequest("nodes", text, "inside brackets give numbers and ranges of numbers, like [01-18] or [1,3,5-9]")
        low, high = span[1], span[2] or span[1]
        room -= int(high) - int(low) + 1
        if int(high) < int(low):
            raise InvalidRequest("nodes", text, f"the range {low}-{high} runs backwards; give {high}-{low}")
        if room < 0:
            raise InvalidRequest("nodes", text, f"give at most {MAX_NODES:,} nodes")
        yield from (str(number).zfill(len(low)) for number in range(int(low), int(high) + 1))


def fold(names: Iterable[str]) -> list[str]:
    """The shortest ranges that expand to these names, in natural order; the inverse of `expand` over a list."""
    series: dict[tuple[str, int, str], list[int]] = defaultdict(list)
    single: list[str] = []
    for name in set(names):
        match = _LAST_NUMBER.fullmatch(name)
        if match is None:
            single.append(name)
        else:
            series[match[1], len(match[2]), match[3]].append(int(match[2]))
    folded = [_bracket(key, sorted(numbers)) for key, numbers in series.items()]
    return sorted(single + folded, key=natural_key)


def _bracket(key: tuple[str, int, str], numbers: list[int]) -> str:
    prefix, width, suffix = key
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]:0{width}d}{suffix}"
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    spans = (f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}" for low, high in runs)
    return f"{prefix}[{','.join(spans)}]{suffix}"

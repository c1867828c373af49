"""Lists, some at a time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def first_of(items: Iterable[_T], limit: int) -> tuple[list[_T], bool]:
    """The first of the items, and whether there are more. No more of them than needed are made."""
    found = list(islice(items, limit + 1))
    return found[:limit], len(found) > limit

"""The id that ties together what one request led to: in the lines of the log, in the events, and in the tasks that follow.

Whoever begins a piece of work opens it with `correlated`; everything below reads it with `correlation`. It names, it never decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Ids that other programs give: long enough for a UUID or a trace id, and of characters that mean nothing to a terminal, a shell or HTML.
MAX_CORRELATION = 64
_SOUND = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:/+=@-]{{0,{MAX_CORRELATION - 1}}}")

_current: ContextVar[str] = ContextVar("correlation", default="")


def correlation() -> str:
    """The id of the work that runs here; "" where nobody gave one."""
    return _current.get()


def is_sound(text: str) -> bool:
    """Whether an id from outside may be taken as it is."""
    return _SOUND.fullmatch(text) is not None


@contextmanager
def correlated(value: str) -> Iterator[None]:
    """Everything inside belongs to this id."""
    token = _current.set(value)
    try:
        yield
    finally:
        _current.reset(token)

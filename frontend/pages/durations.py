"""Spans of time as people type them: "36h", "45 minutes", "1d 12h"."""

from __future__ import annotations

import re

UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
}

_PART = re.compile(r"(\d{1,9})\s*([a-z]+)")
_WHOLE = re.compile(rf"(\s*{_PART.pattern})+\s*")


def seconds_of(text: str) -> int | None:
    """The seconds of a span, or None where the text is none: a number needs its unit."""
    lowered = text.lower()
    if not _WHOLE.fullmatch(lowered):
        return None
    parts = _PART.findall(lowered)
    if any(unit not in UNITS for _, unit in parts):
        return None
    return sum(int(amount) * UNITS[unit] for amount, unit in parts)


def span_of(seconds: int) -> str:
    """Seconds as a span: "1 d 12 h"."""
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        amount, seconds = divmod(seconds, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts) or "0 s"

"""Numbers, times and names as people read them: the one place where reasons, answers, plans and pages get their units from."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.domain.ids import DAY, HOUR, MINUTE, SECOND, Duration

HOUR_S = HOUR // SECOND


def many(count: int | str, what: str) -> str:
    """A count of things: "1 node", "3 nodes", "1,234 nodes"."""
    number = f"{count:,}" if isinstance(count, int) else count
    return f"{number} {what}{'' if str(count) == '1' else 's'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """A few names: "a, b and 5 more"."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def about(duration: Duration) -> str:
    """A time that is only guessed, in one unit: "40 min" up to two hours, "3 h" up to two days, "2 d"."""
    minutes = round(duration / MINUTE)
    if minutes < 120:
        return f"{minutes} min"
    return f"{round(duration / HOUR)} h" if minutes < 48 * 60 else f"{round(duration / DAY)} d"


def exactly(seconds: int) -> str:
    """A time in the largest unit that it is a whole number of: "2 h", "90 min", "45 s"."""
    hours, minutes = HOUR // SECOND, MINUTE // SECOND
    if seconds % hours == 0:
        return f"{seconds // hours} h"
    return f"{seconds // minutes} min" if seconds % minutes == 0 else f"{seconds} s"


def gpu_hours(gpu_seconds: float) -> str:
    """GPU-time: "1,234 GPU-hours", "12.5 GPU-hours", "0 GPU-hours"; little of it in seconds: "90 GPU-seconds"."""
    hours = gpu_seconds / HOUR_S
    if 0 < hours < 0.1:
        return f"{gpu_seconds:.0f} GPU-seconds"
    return f"{hours:,.0f} GPU-hours" if not hours or hours >= 100 else f"{hours:,.1f} GPU-hours"


def in_gpu_hours(gpu_time: Duration) -> float:
    """GPU-time in hours, for programs."""
    return round(gpu_time / HOUR, 2)

"""`python -m tests.scenarios.breaking FIRST COUNT`: tell the stories of so many seeds, and one alone that breaks again, cut short."""

from __future__ import annotations

import dataclasses
import sys
import traceback
from collections import Counter

from clusters.domain.ids import SECOND
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from tests.scenarios.breaking.ground import NAME, START
from tests.scenarios.breaking.story import Story


def broken(seed: int, leave_out: frozenset[int] = frozenset()) -> str:
    """How the story of the seed breaks; "" where it does not."""
    try:
        Story(seed).tell(leave_out)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {frame.filename.rpartition('/')[2]}:{frame.lineno}: {str(error)[:600]}"
    return ""


def shorten(seed: int) -> tuple[frozenset[int], str]:
    """The steps that can be left out of a story that still breaks, and how it breaks then."""
    out: frozenset[int] = frozenset()
    steps = len(Story(seed).order)
    size = max(1, steps // 2)
    while size:
        for first in range(0, steps, size):
            more = out | frozenset(range(first, min(first + size, steps)))
            if more != out and broken(seed, more):
                out = more
        size //= 2
    return out, broken(seed, out)


def show(seed: int) -> None:
    """The shortest story found that still breaks, as the log has it."""
    out, what = shorten(seed)
    story = Story(seed)
    try:
        story.tell(out)
    except Exception:  # noqa: BLE001 - it is shown
        traceback.print_exc()
    kept = [name for place, name in enumerate(story.order) if place not in out]
    print(f"{what}\n{len(kept)} steps: {' '.join(kept)}")
    for event in story.ground.log.read(NAME):
        if not isinstance(event.payload, NodeRegistered | RackRegistered):
            print(event.seq, (event.occurred_at - START) / SECOND, event.source, _words(event.payload))


def _words(payload: object) -> str:
    """What of it is not as usual."""
    fields = dataclasses.fields(payload) if dataclasses.is_dataclass(payload) else ()
    told = [(field.name, getattr(payload, field.name)) for field in fields if getattr(payload, field.name) != field.default]
    values = (f"{name}={_words(value) if isinstance(value, JobRequest | Policy) else value!r}" for name, value in told)
    return f"{type(payload).__name__}({', '.join(values)})"


def main(first: int, count: int) -> int:
    """Returns the number of stories that break."""
    kinds: Counter[str] = Counter()
    for seed in range(first, first + count):
        what = broken(seed)
        if what:
            kinds[what[:60]] += 1
            print(seed, what, flush=True)
    print(f"{count} stories, {kinds.total()} broken")
    if count == 1 and kinds:
        show(first)
    return min(1, kinds.total())


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))

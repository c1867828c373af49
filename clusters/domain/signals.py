"""What sources say of a node's health, and the window of it that each node remembers.

A signal is either momentary (an Xid in the kernel's log) or lasting (a condition that holds until the source takes it back). The window is
the evidence that verdicts rest on: the last signals of all sources, bounded, so that no storm of one source can push the others out.
What a source takes back is over; what others said stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from clusters.domain.health import Flag
from clusters.domain.ids import SECOND, Duration, Instant


class SignalKind(StrEnum):
    """How bad it is, worst first."""

    FATAL = "fatal"  # work on the node cannot go on, or must not
    UNREACHABLE = "unreachable"  # the source cannot reach the node, which is not dead for that
    QUARANTINED = "quarantined"  # another system keeps the node out
    DRAINING = "draining"  # somebody has cordoned it
    SOFT = "soft"  # momentary: a doubt, several make a verdict; lasting: the node is suspect while it holds
    DEGRADED = "degraded"  # works with less than its full strength
    INFO = "info"  # worth counting, says nothing against the node
    RECOVERED = "recovered"  # the source takes back what it said


class SignalScope(StrEnum):
    """Where the cause can lie."""

    NODE = "node"  # in the node itself: act at once
    SHARED = "shared"  # NVLink, switch, fabric: others of the domain may say the same in a moment


#: The flag that each kind speaks for.
FLAG_OF_KIND: dict[SignalKind, Flag] = {
    SignalKind.FATAL: Flag.FAILED,
    SignalKind.UNREACHABLE: Flag.UNREACHABLE,
    SignalKind.QUARANTINED: Flag.QUARANTINED,
    SignalKind.DRAINING: Flag.DRAINING,
    SignalKind.SOFT: Flag.SUSPECT,
    SignalKind.DEGRADED: Flag.DEGRADED,
}

#: Signals that a node remembers, of all sources together.
MAX_HEARD = 32

#: The same momentary signal of one component within this time is one occurrence: drivers print one fault many times. UIUC's study of Delta
#: (arXiv 2503.11901) groups the same Xid of one GPU so.
SAME_OCCURRENCE: Duration = 5 * SECOND


class Heard(NamedTuple):
    """A signal as the node remembers it."""

    seq: int  # position in the log
    rank: int  # decides which of two signals of one source is the later
    at: Instant
    source: str
    code: str
    kind: SignalKind
    scope: SignalScope
    check: str  # what was looked at; a recovery takes back what the source said of the same check
    component: str  # the GPU, link or switch; "" for the node as a whole
    text: str
    action: str
    lasting: bool

    @property
    def order(self) -> tuple[int, int]:
        """Later signals of one source compare greater."""
        return self.rank, self.seq


def remember(window: list[Heard], heard: Heard) -> None:
    """Add a signal; at the limit the oldest of the source that has the most goes."""
    window.append(heard)
    if len(window) > MAX_HEARD:
        counts = Counter(known.source for known in window)
        noisiest = max(counts, key=lambda source: (counts[source], source))
        del window[next(place for place, known in enumerate(window) if known.source == noisiest)]


def standing(window: Sequence[Heard]) -> list[Heard]:
    """The signals that speak against the node still, in order of seq.

    Over is what its source took back, and a lasting signal of which the source has said something else since.
    """
    return [heard for heard in window if heard.kind is not SignalKind.RECOVERED and not _is_over(heard, window)]


def changes(window: Sequence[Heard], heard: Heard) -> bool:
    """Whether the signal says anything that the window does not."""
    if heard.kind is SignalKind.INFO:
        return False
    if heard.kind is SignalKind.RECOVERED:
        return any(_takes_back(heard, known) and heard.order > known.order for known in standing(window))
    if heard.lasting:
        return not any(_same(heard, known) and known.lasting for known in standing(window))
    return not any(_same(heard, known) and abs(heard.at - known.at) < SAME_OCCURRENCE for known in window)


def _is_over(heard: Heard, window: Iterable[Heard]) -> bool:
    return any(
        known.order > heard.order
        and (
            (known.kind is SignalKind.RECOVERED and _takes_back(known, heard))
            or (heard.lasting and known.lasting and _about_the_same(known, heard))
        )
        for known in window
        if known.source == heard.source and known.seq != heard.seq
    )


def _takes_back(recovery: Heard, heard: Heard) -> bool:
    """Whether the recovery is about this: of the same source and check, and of its component or of all."""
    return recovery.source == heard.source and recovery.check == heard.check and recovery.component in ("", heard.component)


def _about_the_same(first: Heard, second: Heard) -> bool:
    return (first.check, first.component) == (second.check, second.component)


def _same(first: Heard, second: Heard) -> bool:
    return first.source == second.source and first.code == second.code and first.kind is second.kind and _about_the_same(first, second)

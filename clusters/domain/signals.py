"""What sources say of a node's health, and the window of it that each node remembers.

A signal is either momentary (an Xid in the kernel's log) or lasting (a condition that holds until the source takes it back). The window is
the evidence that verdicts rest on: the last signals of all sources, bounded, so that no storm of one source can push the others out.
What a source takes back is over; what others said stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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

    @property
    def key(self) -> tuple[str, str, str]:
        """Who says it of what."""
        return self.source, self.check, self.component


_Key = tuple[str, str, str]


def remember(window: list[Heard], heard: Heard) -> None:
    """Add a signal; at the limit the oldest of the source that has the most goes, what lasts and stands after all else."""
    window.append(heard)
    if len(window) > MAX_HEARD:
        counts = Counter(known.source for known in window)
        noisiest = max(counts, key=lambda source: (counts[source], source))
        holds = {known.seq for known in standing(window) if known.lasting}
        places = [place for place, known in enumerate(window) if known.source == noisiest]
        del window[next((place for place in places if window[place].seq not in holds), places[0])]


def standing(window: Sequence[Heard]) -> list[Heard]:
    """The signals that speak against the node still, in order of seq.

    Over is what its source took back, and a lasting signal of which the source has said something else since.
    """
    back: dict[_Key, tuple[int, int]] = {}  # the latest recovery
    last: dict[_Key, tuple[int, int]] = {}  # the latest word on what lasts
    for heard in window:
        latest = back if heard.kind is SignalKind.RECOVERED else last if heard.lasting else None
        if latest is not None:
            latest[heard.key] = max(heard.order, latest.get(heard.key, heard.order))
    return [heard for heard in window if heard.kind is not SignalKind.RECOVERED and not _is_over(heard, back, last)]


def changes(window: Sequence[Heard], heard: Heard) -> bool:
    """Whether the signal says anything that the window does not."""
    if heard.kind is SignalKind.INFO:
        return False
    if heard.kind is SignalKind.RECOVERED:
        return any(_takes_back(heard, known) and heard.order > known.order for known in standing(window))
    if heard.lasting:
        return not any(_same(heard, known) and known.lasting for known in standing(window))
    return not any(_same(heard, known) and abs(heard.at - known.at) < SAME_OCCURRENCE for known in window)


def _is_over(heard: Heard, back: Mapping[_Key, tuple[int, int]], last: Mapping[_Key, tuple[int, int]]) -> bool:
    """Whether its source has taken it back, for its component or for all, or has said something else of it since."""
    source, check, _ = heard.key
    order = heard.order
    later = max(back.get(heard.key, order), back.get((source, check, ""), order))
    return later > order or (heard.lasting and last[heard.key] > order)


def _takes_back(recovery: Heard, heard: Heard) -> bool:
    """Whether the recovery is about this: of the same source and check, and of its component or of all."""
    return recovery.source == heard.source and recovery.check == heard.check and recovery.component in ("", heard.component)


def _about_the_same(first: Heard, second: Heard) -> bool:
    return (first.check, first.component) == (second.check, second.component)


def _same(first: Heard, second: Heard) -> bool:
    return first.source == second.source and first.code == second.code and first.kind is second.kind and _about_the_same(first, second)

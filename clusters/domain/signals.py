"""What sources say of a node's health, and the window of it that each node remembers.

A signal is either momentary (an Xid in the kernel's log) or lasting (a condition that holds until the source takes it back). The window is
the evidence that verdicts rest on: the last signals of all sources, bounded, so that no storm of one source can push the others out.
What a source takes back is over; what others said stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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

_NEVER = (-1, -1)  # before all orders

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


_Key = tuple[str, str, str]  # source, check, component: who says it of what
_Order = tuple[int, int]


def remember(window: list[Heard], heard: Heard) -> None:
    """Add a signal; at the limit the oldest of the source that has the most goes, what lasts and stands after all else."""
    window.append(heard)
    if len(window) > MAX_HEARD:
        counts = Counter([known.source for known in window])
        noisiest = max(counts, key=lambda source: (counts[source], source))
        places = [place for place, known in enumerate(window) if known.source == noisiest]
        words = _Words(window)
        del window[next((place for place in places if not (window[place].lasting and words.stands(window[place]))), places[0])]


def standing(window: Sequence[Heard]) -> list[Heard]:
    """The signals that speak against the node still, in order of seq.

    Over is what its source took back, and a lasting signal of which the source has said something else since.
    """
    words = _Words(window)
    return [heard for heard in window if words.stands(heard)]


def outlasting(window: Sequence[Heard]) -> list[Heard]:
    """What is left once the verdicts on all of it are taken back: what lasts and stands, and what took the rest back.

    Without the latter a word of before that comes late would count anew.
    """
    words = _Words(window)
    return [heard for heard in window if (heard.lasting and words.stands(heard)) or words.holds_back(heard)]


class _Words:
    """The latest words of each source on each thing. Every signal of a storm is held against them several times, so this is kept quick."""

    __slots__ = ("_back", "_last")

    def __init__(self, window: Sequence[Heard]) -> None:
        self._back: dict[_Key, _Order] = {}  # the latest recovery
        self._last: dict[_Key, _Order] = {}  # the latest word on what lasts
        for seq, rank, _, source, _, kind, _, check, component, _, _, lasting in window:
            latest = self._back if kind is SignalKind.RECOVERED else self._last if lasting else None
            if latest is not None:
                key, order = (source, check, component), (rank, seq)
                if order > latest.get(key, _NEVER):
                    latest[key] = order

    def stands(self, heard: Heard) -> bool:
        """Whether it speaks against the node still: its source has neither taken it back nor, of what lasts, said something else since."""
        seq, rank, _, source, _, kind, _, check, component, _, _, lasting = heard
        if kind is SignalKind.RECOVERED:
            return False
        key, order, back = (source, check, component), (rank, seq), self._back
        if back and (back.get(key, order) > order or back.get((source, check, ""), order) > order):
            return False
        return not lasting or self._last[key] <= order

    def holds_back(self, heard: Heard) -> bool:
        """Whether it is the latest recovery of its source from that."""
        return heard.kind is SignalKind.RECOVERED and self._back[heard.source, heard.check, heard.component] == heard.order


def changes(window: Sequence[Heard], heard: Heard) -> bool:
    """Whether the signal says anything that the window does not."""
    if heard.kind is SignalKind.INFO:
        return False
    if heard.kind is SignalKind.RECOVERED:
        return _any_stands(window, [known for known in window if _takes_back(heard, known) and heard.order > known.order])
    if heard.lasting:
        return not _any_stands(window, [known for known in window if known.lasting and _same(heard, known)])
    return not any(_same(heard, known) and abs(heard.at - known.at) < SAME_OCCURRENCE for known in window)


def _any_stands(window: Sequence[Heard], some: Sequence[Heard]) -> bool:
    if not some:
        return False
    words = _Words(window)
    return any(words.stands(heard) for heard in some)


def _takes_back(recovery: Heard, heard: Heard) -> bool:
    """Whether the recovery is about this: of the same source and check, and of its component or of all."""
    return recovery.source == heard.source and recovery.check == heard.check and recovery.component in ("", heard.component)


def _about_the_same(first: Heard, second: Heard) -> bool:
    return (first.check, first.component) == (second.check, second.component)


def _same(first: Heard, second: Heard) -> bool:
    return first.source == second.source and first.code == second.code and first.kind is second.kind and _about_the_same(first, second)

"""What the signals of one node speak for: flags with their reasons, and when each verdict is due.

A fatal signal of the node itself counts at once, one that can share its cause with others of the domain waits for the incident window. A
lasting soft signal counts while it holds, momentary ones when enough come within the policy's time. A node out of reach is not dead: only
when it has work, and nobody has reached it for the policy's limit, is it taken for dead. A verdict is taken back when nothing has spoken
against the node for the quiet time since the last bad signal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clusters.domain.health import SCHEDULER, Flag
from clusters.domain.ids import MILLISECOND, SECOND, Instant
from clusters.domain.policy import Policy
from clusters.domain.signals import FLAG_OF_KIND, Heard, SignalKind, SignalScope, standing
from clusters.domain.state import Node

#: Signals that a verdict quotes at most.
MOST_QUOTED = 8

#: How the reason of a verdict begins that was given because nobody reached the node.
OUT_OF_REACH = "out of reach"


class Doubt(NamedTuple):
    """One flag that the evidence speaks for."""

    flag: Flag
    due: Instant  # when the verdict may be given
    since: Instant  # the first signal
    reason: str
    evidence: tuple[str, ...]
    shared: bool = False  # the cause can lie outside the node
    fencing: bool = False  # its work is dead


def doubts_of(node: Node, policy: Policy, now: Instant) -> dict[Flag, Doubt]:
    """Every flag that the node's signals speak for; those not due yet are among them."""
    held = standing(node.signals)
    found = [*_fatal(held, policy), *_soft(held, policy, now), *_as_told(held), *_out_of_reach(node, policy)]
    found.sort(key=lambda doubt: doubt.due, reverse=True)
    return {doubt.flag: doubt for doubt in found}  # the earliest of each flag wins


def expiries(node: Node, policy: Policy) -> Iterator[Instant]:
    """When momentary soft signals are too old to count."""
    soft = (heard for heard in node.signals if heard.kind is SignalKind.SOFT and not heard.lasting)
    return (heard.at + policy.soft_window_s * SECOND for heard in soft)


def flags_of(node: Node) -> set[Flag]:
    """The flags that verdicts have set."""
    return {flag for (flag, source), mark in node.marks.items() if mark.on and source == SCHEDULER}


def last_bad(node: Node) -> Instant | None:
    """When the last signal that speaks against the node was given; None where none is remembered."""
    return max((heard.at for heard in node.signals if heard.kind in FLAG_OF_KIND), default=None)


def quiet_from(node: Node, policy: Policy) -> Instant:
    """When a verdict that nothing speaks for any more may be taken back."""
    bad = last_bad(node)
    return 0 if bad is None else bad + policy.recovery_quiet_s * SECOND


def quote(heard: Heard) -> str:
    """One signal as a verdict quotes it."""
    said = " ".join(part for part in (heard.code, heard.component, heard.text) if part)
    return f"{heard.source}: {said} (event {heard.seq})"


def quotes(signals: Sequence[Heard]) -> tuple[str, ...]:
    """The signals as a verdict quotes them, the first and how many more."""
    more = len(signals) - MOST_QUOTED
    return (*map(quote, signals[:MOST_QUOTED]), *([f"and {more} more"] if more > 0 else []))


def _fatal(held: Sequence[Heard], policy: Policy) -> Iterator[Doubt]:
    fatal = [heard for heard in held if heard.kind is SignalKind.FATAL]
    for scope in SignalScope:
        signals = [heard for heard in fatal if heard.scope is scope]
        if not signals:
            continue
        first = min(signals, key=lambda heard: (heard.at, heard.seq))
        shared = scope is SignalScope.SHARED
        due = first.at + policy.incident_window_ms * MILLISECOND if shared else first.at
        yield Doubt(Flag.FAILED, due, first.at, _words(first), quotes(signals), shared=shared, fencing=True)


def _soft(held: Sequence[Heard], policy: Policy, now: Instant) -> Iterator[Doubt]:
    soft = [heard for heard in held if heard.kind is SignalKind.SOFT]
    lasting = [heard for heard in soft if heard.lasting]
    if lasting:
        yield Doubt(Flag.SUSPECT, lasting[0].at, lasting[0].at, _words(lasting[0]), quotes(lasting))
    recent = [heard for heard in soft if not heard.lasting and heard.at > now - policy.soft_window_s * SECOND]
    if len(recent) >= policy.soft_signals:
        reason = f"{len(recent)} soft signals within {policy.soft_window_s} s, the last {_words(recent[-1])}"
        yield Doubt(Flag.SUSPECT, recent[-1].at, recent[0].at, reason, quotes(recent))


def _as_told(held: Sequence[Heard]) -> Iterator[Doubt]:
    for kind in (SignalKind.UNREACHABLE, SignalKind.QUARANTINED, SignalKind.DRAINING, SignalKind.DEGRADED):
        signals = [heard for heard in held if heard.kind is kind]
        if signals:
            yield Doubt(FLAG_OF_KIND[kind], signals[0].at, signals[0].at, _words(signals[0]), quotes(signals))


def _out_of_reach(node: Node, policy: Policy) -> Iterator[Doubt]:
    """A node with work that nobody has reached for the limit. It stays so until it is reached, though its work has gone by then."""
    since = min((mark.since for (flag, _), mark in node.marks.items() if flag is Flag.UNREACHABLE and mark.on), default=None)
    if since is None or not (node.job or node.shares or Flag.FAILED in flags_of(node)):
        return
    reason = f"{OUT_OF_REACH} for {policy.unreachable_limit_s} s"
    sources = sorted(source for (flag, source), mark in node.marks.items() if flag is Flag.UNREACHABLE and mark.on)
    evidence = tuple(f"{source} cannot reach it" for source in sources)
    yield Doubt(Flag.FAILED, since + policy.unreachable_limit_s * SECOND, since, reason, evidence, fencing=True)


def _words(heard: Heard) -> str:
    return heard.text or " ".join(part for part in (heard.code, heard.component) if part)

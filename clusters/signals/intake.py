"""Signals into the log. What changes nothing is counted and not logged: a fleet that is well says so without end.

A signal is repeated where its source has sent its id before, and unchanged where the node's window says the same already. Whatever was said
of nodes that nobody knows is counted by itself: a misspelt name must not go unnoticed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from uuid import uuid4

from clusters.domain.clock import cluster_now
from clusters.domain.errors import SourceConflict
from clusters.domain.events import MAX_SOURCE, MAX_SOURCE_ID, Event, NewEvent
from clusters.domain.evolve_signals import heard_of
from clusters.domain.fabric import is_joined
from clusters.domain.ids import Instant
from clusters.domain.signal_events import SignalReceived
from clusters.domain.signals import Heard, SignalKind, SignalScope, changes, remember
from clusters.domain.state import ClusterState
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import append_facts, default_log
from clusters.signals import figures
from clusters.signals.model import Signal
from clusters.signals.order import Orders
from clusters.signals.xids import is_guess

#: Signals of one append: the log is locked for about 10 ms.
MAX_BATCH = 1_000
#: Unknown nodes, and unknown codes, that are named.
MAX_NAMED = 20
#: The sources of all signals begin so: what is pushed can pass for nobody else.
PREFIX = "signal:"
DIGEST_BYTES = 8
#: How often a batch is worked out anew when another one with the same ids comes in at the same time.
ATTEMPTS = 3


_orders = Orders()


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """What became of a batch."""

    received: int = 0
    new: int = 0  # in the log now
    repeated: int = 0  # sent before
    unchanged: int = 0  # said nothing new
    unknown_nodes: int = 0  # signals of nodes that are not in the inventory
    named: tuple[str, ...] = ()  # the first of these nodes
    unknown_codes: int = 0  # signals, whatever became of them, that were taken as soft because nobody knows their code
    codes: tuple[str, ...] = ()  # the first of these codes


def source_of(by: str, feed: str) -> str:
    """The source of what somebody pushes, or a poll brings in, as one feed; long names are shortened and stay distinct."""
    name = f"{PREFIX}{by}/{feed}" if feed else f"{PREFIX}{by}"
    if len(name) <= MAX_SOURCE:
        return name
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()
    return f"{name[: MAX_SOURCE - len(digest) - 1]}~{digest}"


def signals_receive(*, cluster: str, source: str, signals: Sequence[Signal], correlation: str = "") -> Received:
    """Append what is new of the signals; raises UnknownCluster, SourceConflict, SourceSequence."""
    total: Counter[str] = Counter(received=0, new=0, repeated=0, unchanged=0, unknown_nodes=0)
    named: dict[str, None] = {}
    left = iter(signals)
    while batch := list(islice(left, MAX_BATCH)):
        done = _receive(cluster, source, batch, correlation)
        total.update({field: getattr(done, field) for field in total})
        named |= dict.fromkeys(done.named)
    figures.count(cluster, {outcome: number for outcome, number in total.items() if outcome != "received"})
    guessed = [signal.code for signal in signals if is_guess(signal.kind, signal.text)]
    codes = tuple(islice(dict.fromkeys(guessed), MAX_NAMED))
    return Received(**total, named=tuple(islice(named, MAX_NAMED)), unknown_codes=len(guessed), codes=codes)


def product_of(cluster: str) -> str:
    """The product of the cluster's nodes where all have the same, else "": it decides what some codes mean. Raises UnknownCluster."""
    with default_log().live(cluster).reading() as state:
        products = {node.product for node in state.nodes.values() if node.product}
    return products.pop() if len(products) == 1 else ""


def _receive(cluster: str, source: str, signals: Sequence[Signal], correlation: str) -> Received:
    for attempt in range(1, ATTEMPTS + 1):
        known = default_log().said_of(cluster, source, [key for signal in signals if (key := _key(signal))])
        live = default_log().live(cluster)
        with live.reading() as state:
            sorted_out = _Sorting(state, live.position.epoch, source, known)
            facts = list(sorted_out.facts(signals, correlation))
        try:
            if facts:
                append_facts(cluster, facts)
        except SourceConflict:  # another delivery of the same came in between
            if attempt == ATTEMPTS:
                raise
        else:
            break
    counts = sorted_out.counts
    return Received(
        received=len(signals),
        new=len(facts),
        repeated=counts["repeated"],
        unchanged=counts["unchanged"],
        unknown_nodes=counts["unknown"],
        named=tuple(sorted_out.unknown),
    )


class _Sorting:
    """Sorts signals by what they change, each on top of those before it."""

    def __init__(self, state: ClusterState, epoch: str, source: str, known: Mapping[str, Event]) -> None:
        self.counts: Counter[str] = Counter()
        self.unknown: dict[str, None] = {}
        self._state = state
        self._epoch = epoch
        self._source = source
        self._known: dict[str, SignalReceived | None] = {key: _payload(event) for key, event in known.items()}
        self._windows: dict[str, list[Heard]] = {}
        self._now = cluster_now(state, wall_now())
        self._seq = state.seq

    def facts(self, signals: Sequence[Signal], correlation: str) -> Iterator[NewEvent]:
        """The facts that say something new."""
        for signal in signals:
            node = self._state.nodes.get(signal.node)
            key = _key(signal)
            early = signal.seq is not None and not _orders.has_come(self._epoch, self._source, signal.seq)
            payload = _said(signal, shared=signal.scope is SignalScope.SHARED and (node is None or is_joined(node)))
            if node is None:
                self.counts["unknown"] += 1
                self.unknown[signal.node] = None
            elif key in self._known:
                self._compare(key, payload)
                self.counts["repeated"] += 1
            elif (at := self._change(signal, payload, early=early)) is None:
                self.counts["unchanged"] += 1
            else:
                if key:
                    self._known[key] = payload
                yield NewEvent(payload, at, self._source, key or uuid4().hex, signal.seq, None, correlation)

    def _compare(self, key: str, payload: SignalReceived) -> None:
        """A source that says something else under an id of before has lost count of its ids."""
        before = self._known[key]
        if before is None or (before.node, before.code, before.kind) != (payload.node, payload.code, payload.kind):
            raise SourceConflict(f"source {self._source!r} has sent {key!r} before with other content; give what differs another id")

    def _change(self, signal: Signal, payload: SignalReceived, *, early: bool) -> Instant | None:
        """When it happened, in cluster time; None where the window of the node says as much already."""
        at = self._now if signal.occurred_at is None else min(self._now, self._state.clock.reading(signal.occurred_at))
        window = self._windows.setdefault(signal.node, list(self._state.nodes[signal.node].signals))
        heard = heard_of(payload, self._seq + 1, at if signal.seq is None else signal.seq, at, self._source)
        if not changes(window, heard) and not (early and _holds(signal)):
            return None
        self._seq += 1
        remember(window, heard)
        return at


def _holds(signal: Signal) -> bool:
    """Whether the signal holds until the source says otherwise, so that a late one of before must not get its place."""
    return signal.lasting or signal.kind is SignalKind.RECOVERED


def _said(signal: Signal, *, shared: bool) -> SignalReceived:
    """What the source says; the cause is shared with nobody where the node's fabric is its own, as on HGX."""
    return SignalReceived(
        node=signal.node,
        code=signal.code,
        kind=signal.kind,
        scope=SignalScope.SHARED if shared else SignalScope.NODE,
        check=signal.check,
        component=signal.component,
        text=signal.text,
        action=signal.action,
        lasting=signal.lasting,
        evidence=signal.evidence,
    )


def _key(signal: Signal) -> str:
    """The id under which the log keeps it; "" where the source gives none."""
    told = signal.id or ("" if signal.seq is None else f"seq/{signal.seq}")
    if len(told) <= MAX_SOURCE_ID:
        return told
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=2 * DIGEST_BYTES).hexdigest()


def _payload(event: Event) -> SignalReceived | None:
    return event.payload if isinstance(event.payload, SignalReceived) else None

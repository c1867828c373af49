"""A storm of signals as S9 has it: checks of 27 nodes that fail and pass, some told twice and some late."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from clusters.domain.ids import MILLISECOND, Instant
from clusters.domain.signals import SignalKind
from clusters.signals.intake import MAX_BATCH
from clusters.signals.model import Signal

RACKS = ("r1", "r2", "r3")
NODES = tuple(f"{rack}-n{number}" for rack in RACKS for number in range(1, 10))

#: Shares of the signals that come late, by up to so many places, and that come a second time.
LATE, PLACES_LATE = 0.05, 200
TWICE, PLACES_TWICE = 0.1, 50

_KINDS = (SignalKind.SOFT, SignalKind.SOFT, SignalKind.DEGRADED, SignalKind.RECOVERED)
_CHECKS = ("ecc", "power", "thermal")

#: (check, code): what stands against a node.
Said = set[tuple[str, str]]


def storm(draw: random.Random, count: int, nodes: Sequence[str] = NODES, began: Instant | None = None) -> list[Signal]:
    """Signals of one source in its own order, numbered by its counter; a millisecond apart from a wall time on, or without times."""
    return [_signal(draw, seq, nodes, None if began is None else began + seq * MILLISECOND) for seq in range(count)]


def late_and_twice(told: Iterable[Signal], draw: random.Random) -> list[Signal]:
    """The same signals as they are delivered."""
    order: list[tuple[int, Signal]] = []
    for place, signal in enumerate(told):
        order.append((place + (draw.randrange(1, PLACES_LATE) if draw.random() < LATE else 0), signal))
        if draw.random() < TWICE:
            order.append((place + draw.randrange(1, PLACES_TWICE), signal))
    return [signal for _, signal in sorted(order, key=lambda item: item[0])]


def batches(told: Sequence[Signal], draw: random.Random, most: int = MAX_BATCH) -> Iterator[Sequence[Signal]]:
    """The deliveries, of any size up to the most that the intake takes at a time."""
    place = 0
    while place < len(told):
        size = draw.randrange(1, most + 1)
        yield told[place : place + size]
        place += size


def folded(told: Iterable[Signal]) -> dict[str, Said]:
    """What stands against each node once all of it has come, by a fold in the source's own order that knows nothing of the product."""
    last: dict[tuple[str, str], Signal] = {(signal.node, signal.check): signal for signal in told}
    said: dict[str, Said] = {}
    for (node, check), signal in last.items():
        if signal.kind is not SignalKind.RECOVERED:
            said.setdefault(node, set()).add((check, signal.code))
    return said


def plain_of(signal: Signal) -> dict[str, Any]:
    """A signal without a time, as the API takes it."""
    return {
        "node": signal.node,
        "code": signal.code,
        "kind": signal.kind.value,
        "check": signal.check,
        "lasting": signal.lasting,
        "seq": signal.seq,
    }


def _signal(draw: random.Random, seq: int, nodes: Sequence[str], at: Instant | None) -> Signal:
    kind, check = draw.choice(_KINDS), draw.choice(_CHECKS)
    return Signal(node=draw.choice(nodes), code=f"{check}:{kind}", kind=kind, check=check, lasting=True, seq=seq, occurred_at=at)

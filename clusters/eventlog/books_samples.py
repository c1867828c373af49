"""The books over time: for each of TIERS a sample at every whole multiple of its width, where something happened in between.

At a sample's instant the books are those after all that happened before it, so a chart that steps from sample to sample is right at each.
Reading all nodes for each sample would cost more than all the rest of the projection, so a reader keeps what it read and looks again only
at domains that an event has touched since (`space.stamp`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper

from clusters.domain.books import Use
from clusters.domain.books_of import domain_uses
from clusters.domain.events import Event
from clusters.domain.ids import HOUR, MINUTE, Duration, Instant
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState
from clusters.domain.topology import Topology
from clusters.eventlog.sql import placeholders

#: Width of samples -> how long they are kept: a week at ten minutes, a year at six hours; at most 1,460 rows each.
TIERS: dict[Duration, Duration] = {10 * MINUTE: 7 * 24 * HOUR, 6 * HOUR: 365 * 24 * HOUR}

_KEY = "cluster_id = %s AND build = %s AND width = %s"
_ADD = f"INSERT INTO clusters_bookssample (cluster_id, build, width, at, seq, books) VALUES ({placeholders(6)}) ON CONFLICT DO NOTHING"
_OLDEST = f"SELECT MIN(at) FROM clusters_bookssample WHERE {_KEY}"
_PRUNE = f"DELETE FROM clusters_bookssample WHERE {_KEY} AND at <= %s"


class Sample(NamedTuple):
    """The books at an instant."""

    seq: int
    books: str
    sure: bool  # that the instant lies behind the event before


Samples = Mapping[tuple[Duration, Instant], Sample]


class BooksReader:
    """Reads the books of one state as it is folded."""

    def __init__(self) -> None:
        self._at: Instant | None = None  # of the latest event; None: not known
        self._read = -1  # position up to which uses were read
        self._of: tuple[Topology, Policy] | None = None  # what the uses were read by
        self._uses: list[Counter[Use]] = []  # by domain index

    def samples(self, state: ClusterState, event: Event) -> Iterator[tuple[tuple[Duration, Instant], Sample]]:
        """The books before the event, for each sampling instant that it lies behind: the first since the event before, and the last."""
        before, at = self._at, event.occurred_at
        self._at = at if before is None else max(before, at)
        if not state.seq:
            return
        text = ""
        for width in TIERS:
            last = at // width * width
            first = last if before is None else (before // width + 1) * width
            for instant in {first, last} if first <= last else ():
                text = text or self._text(state)
                yield (width, instant), Sample(state.seq, text, before is not None)

    def _text(self, state: ClusterState) -> str:
        uses: Counter[str] = Counter()
        for counts in self._domains(state):
            uses.update(counts)
        conditions = Counter(node.condition for node in state.nodes.values())
        return json.dumps({"use": {use.value: uses[use] for use in Use if uses[use]}, "condition": dict(sorted(conditions.items()))})

    def _domains(self, state: ClusterState) -> list[Counter[Use]]:
        if self._of is None or self._of[0] is not state.topology or self._of[1] is not state.policy:
            self._of = (state.topology, state.policy)
            self._uses = [Counter() for _ in state.topology.domains]
            self._read = -1
        for domain, stamp in enumerate(state.space.stamp):
            if stamp > self._read:
                self._uses[domain] = Counter(domain_uses(state, domain))
        self._read = state.seq
        return self._uses


def write_samples(cursor: CursorWrapper, build: tuple[int, int], samples: Samples) -> None:
    """Keep the first that was written for an instant, and no more than its tier allows; `build` is (cluster, build).

    One that is not sure to lie behind the event before it is taken only where the log had begun before it: there, whatever lay between has
    been written.
    """
    for width in {width for width, _ in samples}:
        key = (*build, width)
        cursor.execute(_OLDEST, key)
        oldest = cursor.fetchone()[0]
        own = {at: sample for (wide, at), sample in samples.items() if wide == width}
        kept = {at: sample for at, sample in own.items() if sample.sure or (oldest is not None and at > oldest)}
        cursor.executemany(_ADD, [(*key, at, sample.seq, sample.books) for at, sample in kept.items()])
        if kept:
            cursor.execute(_PRUNE, (*key, max(kept) - TIERS[width]))

"""Facts on their way into a log.

They take the fast way first: numbered from the head and inserted. Only when the store says that some are there already are they looked up
one by one, in a second transaction, and the rest numbered anew. Looking up first would cost every batch what only repeated ones need.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

from clusters.domain.errors import SourceConflict, SourceSequence
from clusters.domain.events import Event, NewEvent
from clusters.domain.ids import Instant
from clusters.eventlog.claims import releases
from clusters.eventlog.facts import number_facts, same_fact, sequenced_sources
from clusters.eventlog.port import Guard, Receipt
from clusters.eventlog.storage import Repeated, Store, Writer

security = logging.getLogger("slicekeeper.security")

Key = tuple[str, str]  # source, source_id


class Sources:
    """Holds each source to what its first event did: number its facts always, or never."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], bool] = {}  # (epoch, source): durable, and fixed for good

    def check(self, writer: Writer, sources: Mapping[str, bool]) -> None:
        """Refuse a source that changed its mind; remember new ones in the store, with the writer's transaction."""
        epoch = writer.position.epoch
        unknown = [source for source in sources if (epoch, source) not in self._known]
        if not unknown:
            known = {source: self._known[epoch, source] for source in sources}
        else:
            known = writer.sources(sources)
            writer.add_sources({source: sources[source] for source in unknown if source not in known})
        for source, numbers in sources.items():
            if known.get(source, numbers) != numbers:
                right = "never" if numbers else "always"
                raise SourceSequence(f"source {source!r} has {right} given source_seq since its first fact; go on like that")

    def learn(self, epoch: str, sources: Mapping[str, bool]) -> None:
        """What was checked is durable now."""
        self._known.update({(epoch, source): numbers for source, numbers in sources.items()})


class Intake:
    """Appends facts."""

    def __init__(self, store: Store, sources: Sources, wall: Callable[[], Instant]) -> None:
        self._store = store
        self._sources = sources
        self._wall = wall

    def append(self, cluster: str, facts: Sequence[NewEvent], guard: Guard | None = None) -> tuple[Receipt, ...]:
        """Store what is new of the facts."""
        try:
            return self._append_new(cluster, facts, guard)
        except Repeated:
            return self._append_rest(cluster, facts, guard)

    def _append_new(self, cluster: str, facts: Sequence[NewEvent], guard: Guard | None) -> tuple[Receipt, ...]:
        sources = sequenced_sources(facts)
        with self._store.writing(cluster) as writer:
            if guard is not None:
                guard()
            self._sources.check(writer, sources)
            self._add(writer, facts)
        self._sources.learn(writer.position.epoch, sources)
        first = writer.position.head + 1
        return tuple(map(Receipt, range(first, first + len(facts)), repeat(False)))

    def _append_rest(self, cluster: str, facts: Sequence[NewEvent], guard: Guard | None) -> tuple[Receipt, ...]:
        with self._store.writing(cluster) as writer:
            if guard is not None:
                guard()
            self._sources.check(writer, sequenced_sources(facts))
            stored = self._find(cluster, facts)
            fresh: dict[Key, NewEvent] = {}
            places: dict[Key, int] = {}
            receipts = []
            for fact in facts:
                key = (fact.source, fact.source_id)
                before = stored.get(key) or fresh.get(key)
                if before is None:
                    fresh[key] = fact
                    places[key] = writer.position.head + len(fresh)
                elif not same_fact(before, fact):
                    _refuse_other_content(cluster, key)
                seq = stored[key].seq if key in stored else places[key]
                receipts.append(Receipt(seq, before is not None))
            if fresh:
                self._add(writer, list(fresh.values()))
        return tuple(receipts)

    def _add(self, writer: Writer, facts: Sequence[NewEvent]) -> None:
        writer.add(number_facts(facts, writer.position.head + 1, self._wall()))
        writer.change_claims(releases(fact.payload for fact in facts))

    def _find(self, cluster: str, facts: Sequence[NewEvent]) -> dict[Key, Event]:
        ids: dict[str, list[str]] = {}
        for fact in facts:
            ids.setdefault(fact.source, []).append(fact.source_id)
        return {
            (source, source_id): event
            for source, source_ids in ids.items()
            for source_id, event in self._store.find(cluster, source, source_ids).items()
        }


def _refuse_other_content(cluster: str, key: Key) -> None:
    security.warning("cluster %r: source %r sent %r again with other content; the first stands", cluster, *key)
    raise SourceConflict(f"source {key[0]!r} has sent {key[1]!r} before with other content; give what differs another source_id")

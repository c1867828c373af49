"""From a command to a decision that stands in the log.

The decision is made on this process's state before the log's lock is taken, so refusals, and the search behind them, hold nobody up. If
the head has moved by the time the lock is held, the tail is folded and the decision made again. `decide` is deterministic: where nothing
that it read has changed it comes to the same answer, so no list of what it read is needed.

The events are folded before they are committed: what contradicts the state never becomes part of the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from clusters.domain.clock import cluster_now
from clusters.domain.decision import ENGINE_VERSION, Decide, Decision, DecisionRecord, Refusal
from clusters.domain.errors import SourceConflict
from clusters.domain.events import Event
from clusters.domain.ids import Instant
from clusters.domain.state import ClusterState
from clusters.eventlog.claims import changes
from clusters.eventlog.facts import number_decision, number_facts
from clusters.eventlog.follow import LiveCluster
from clusters.eventlog.intake import Sources
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request
from clusters.eventlog.storage import Repeated, Store, Writer


class _Made(NamedTuple):
    """A decision and the cluster time it was made at."""

    decision: Decision
    now: Instant


class Decider:
    """Commits decisions."""

    def __init__(self, store: Store, sources: Sources, wall: Callable[[], Instant]) -> None:
        self._store = store
        self._sources = sources
        self._wall = wall

    def commit(self, live: LiveCluster, request: Request, decide: Decide) -> Committed | Refusal:
        """Decide and store; the caller holds the live cluster's lock."""
        # In this order: what is committed after the state was read moves the head, and is looked at again under the lock.
        state = live.catch_up()
        outcome = self._answer(live.name, state, request, decide)
        if not isinstance(outcome, _Made):
            return outcome
        try:
            return self._store_decision(live, request, decide, outcome)
        except Repeated:
            raise SourceConflict(f"source {request.source!r} has used an id of request {request.request_id!r} for something else") from None

    def _answer(self, cluster: str, state: ClusterState, request: Request, decide: Decide) -> Committed | Refusal | _Made:
        return self._repeated(cluster, request) or self._decide(state, request, decide)

    def _decide(self, state: ClusterState, request: Request, decide: Decide) -> Committed | Refusal | _Made:
        now = cluster_now(state, self._wall()) if request.now is None else request.now
        outcome = decide(state, request.command, now)
        if isinstance(outcome, Refusal):
            return outcome
        if not outcome.events:
            return Committed(events=(), more=outcome.more, duplicate=False)
        return _Made(outcome, now)

    def _repeated(self, cluster: str, request: Request) -> Committed | None:
        """What the same request led to before."""
        if request.request_id is None:
            return None
        first = self._store.find(cluster, request.source, (request.request_id,)).get(request.request_id)
        if first is None:
            return None
        stored = self._store.decision(cluster, first.seq)
        if stored is None or stored[1].command != request.command:
            raise SourceConflict(
                f"source {request.source!r} has used {request.request_id!r} before for something else; draw a new request id"
            )
        count, record = stored
        events = tuple(self._store.read(cluster, first.seq - 1, count))
        return Committed(events=events, more=record.more, duplicate=True)

    def _store_decision(self, live: LiveCluster, request: Request, decide: Decide, made: _Made) -> Committed | Refusal:
        ahead = False
        try:
            with self._store.writing(live.name) as writer:
                if writer.position != live.position:
                    outcome = self._answer(live.name, live.catch_up(), request, decide)
                    if not isinstance(outcome, _Made):
                        return outcome
                    made = outcome
                events = self._write(writer, live.state, request, made)
                ahead = True
                live.fold(events)
        except BaseException:
            if ahead:  # of a log that will not have these events
                live.forget()
            raise
        self._sources.learn(writer.position.epoch, {request.source: False})
        return Committed(events=tuple(events), more=made.decision.more, duplicate=False)

    def _write(self, writer: Writer, state: ClusterState, request: Request, made: _Made) -> list[Event]:
        payloads = made.decision.events
        at_seq = writer.position.head
        self._sources.check(writer, {request.source: False})
        events = number_facts(number_decision(request, payloads, at_seq + 1, made.now), at_seq + 1, self._wall())
        record = DecisionRecord(
            command=request.command,
            at_seq=at_seq,
            now=made.now,
            policy_version=state.policy_version,
            engine_version=ENGINE_VERSION,
            more=made.decision.more,
        )
        writer.add(events, record)
        writer.change_claims(changes(state, payloads))
        return events

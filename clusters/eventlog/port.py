"""The event log as its callers see it.

One log per cluster, gapless from 1. There are two ways in: facts that somebody reports, and decisions that follow from the state. Both
are durable before they are acknowledged, all or nothing, and stored once however often they are sent. Reading from a position sees every
event exactly once and in order, however many write at the same time: an event becomes visible only after all those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from clusters.domain.decision import Decide, DecisionRecord, Refusal
from clusters.domain.events import Event, NewEvent
from clusters.eventlog.request import Request

if TYPE_CHECKING:
    from clusters.domain.state import ClusterState
    from clusters.eventlog.follow import LiveCluster

#: Looks, in the transaction of an append, whether the writer may still write.
Guard = Callable[[], None]


class Receipt(NamedTuple):
    """Where a fact stands in the log."""

    seq: int
    duplicate: bool  # it was there before


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A decision that stands in the log, with its events."""

    events: tuple[Event, ...]
    more: bool  # there is work left: send the command again
    duplicate: bool  # the same request was committed before; these are its events of then


class EventLog(Protocol):
    """The only writer of truth."""

    def create(self, cluster: str, facts: Sequence[NewEvent]) -> None:
        """Open a log whose first event is ClusterCreated; raises ClusterExists."""

    def clusters(self) -> tuple[str, ...]:
        """Names of all clusters, sorted."""

    def head(self, cluster: str) -> int:
        """Position of the last event; raises UnknownCluster."""

    def read(self, cluster: str, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Events after a position, in order; raises UnknownEvent where this version cannot read on."""

    def about(self, cluster: str, subject: str, after: int = 0) -> Iterator[Event]:
        """Events of one job, node or rack, in order."""

    def append_facts(self, cluster: str, facts: Sequence[NewEvent], guard: Guard | None = None) -> tuple[Receipt, ...]:
        """Store facts, all or none; repeated ones are absorbed. Raises SourceConflict, SourceSequence, InvalidRequest.

        `guard` is called in the transaction, once it holds the log's lock; what it raises refuses the facts.
        """

    def commit(self, cluster: str, request: Request, decide: Decide) -> Committed | Refusal:
        """Decide on the state at the head and store what follows; a refusal stores nothing."""

    def decisions(self, cluster: str, after: int = 0) -> Iterator[tuple[int, int, DecisionRecord]]:
        """(position of the first event, number of events, record) of each decision that begins after a position."""

    def live(self, cluster: str) -> LiveCluster:
        """The cluster's state in this process."""

    def save_snapshot(self, cluster: str, state: ClusterState) -> None:
        """Keep the folded state of its position, to start from later."""

    def load_snapshot(self, cluster: str) -> ClusterState | None:
        """The state of the latest snapshot that is sound, if any."""

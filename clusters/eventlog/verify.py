"""Proving a log: replay it from the beginning and compare everything that was ever derived from it.

Each event's digest is computed anew. Each decision of the running engine is made again from its record, on the state at its position, and
must come to the same events. Decisions of older engines, and those of solvers, which need not answer alike twice, are held to the
invariants instead. At the end the stored snapshots and the table of GPU claims must agree with the fold.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from clusters.domain import invariants
from clusters.domain.decision import ENGINE_VERSION, Decide, DecisionRecord, Refusal
from clusters.domain.dump import dump_state
from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Event
from clusters.domain.evolve import evolve
from clusters.domain.state import ClusterState
from clusters.eventlog.claims import Gpu, Holders, apply_claim, changes
from clusters.eventlog.facts import PLACEMENTS
from clusters.eventlog.log import StoredLog
from clusters.eventlog.state_codec import FOLD_VERSION, unpack
from clusters.eventlog.storage import Audited


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something in the log, or derived from it, that is not what it must be."""

    seq: int
    what: str


@dataclass(slots=True, kw_only=True)
class Tally:
    """Decisions on one kind of command."""

    remade: int = 0  # made again, with the same events
    validated: int = 0  # of an older engine or a solver: the invariants hold after it
    differing: int = 0


@dataclass(slots=True, kw_only=True)
class Report:
    """What a replay found."""

    cluster: str
    events: Counter[str] = field(default_factory=Counter)  # by kind
    decisions: dict[str, Tally] = field(default_factory=dict)  # by kind of command
    differences: list[Difference] = field(default_factory=list)
    head: int = 0  # position up to which the log was replayed
    seconds: float = 0.0

    @property
    def events_per_second(self) -> float:
        """How fast."""
        return self.events.total() / self.seconds if self.seconds else 0.0


def replay(log: StoredLog, cluster: str) -> Report:
    """Fold the whole log and count."""
    report = Report(cluster=cluster)
    started = time.perf_counter()
    state = ClusterState()
    report.events = Counter(_folded_kinds(state, log.read(cluster)))
    report.head = state.seq
    report.seconds = time.perf_counter() - started
    return report


def _folded_kinds(state: ClusterState, events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        evolve(state, event)
        yield event.kind


def verify(log: StoredLog, cluster: str, decide: Decide) -> Report:
    """Prove the log of a cluster; the report lists what differs. Appends may go on meanwhile."""
    started = time.perf_counter()
    proof = _Proof(log, cluster, decide)
    proof.run()
    proof.report.seconds = time.perf_counter() - started
    return proof.report


class _Proof:
    """One pass over a log."""

    def __init__(self, log: StoredLog, cluster: str, decide: Decide) -> None:
        self.report = Report(cluster=cluster)
        self._log = log
        self._cluster = cluster
        self._decide = decide
        self._state = ClusterState()
        self._claims: dict[str, Holders] = {}
        self._snapshots = {snapshot.seq: snapshot for snapshot in log.snapshots(cluster) if snapshot.version == FOLD_VERSION}

    def run(self) -> None:
        try:
            self._follow()
            with self._log.held(self._cluster):
                self._follow()
                stored = self._log.claims(self._cluster)
            self._check_invariants()
            self._compare_claims(stored)
        except Exception as error:  # noqa: BLE001 - in a log that was tampered with anything may fail; where it does is what is asked
            self._differs(self._state.seq + 1, f"the replay ends here: {error}")
        self.report.head = self._state.seq

    def _follow(self) -> None:
        """Fold up to the head, decision by decision."""
        events = self._log.audit(self._cluster, self._state.seq)
        decisions = self._log.decisions(self._cluster, self._state.seq)
        decision = next(decisions, None)
        while (first := next(events, None)) is not None:
            if decision is None or first.seq < decision[0]:
                if isinstance(first.event and first.event.payload, PLACEMENTS):
                    self._differs(first.seq, "no decision led to it")
                self._fold(first)
                continue
            self._prove([first, *islice(events, decision[1] - 1)], decision[2])
            decision = next(decisions, None)

    def _prove(self, events: list[Audited], record: DecisionRecord) -> None:
        """Hold the events of one decision to what it must have led to."""
        first = events[0].seq
        remake = record.engine_version == ENGINE_VERSION and record.solver is None
        found = len(self.report.differences)
        if (record.at_seq, record.policy_version) != (first - 1, self._state.policy_version):
            self._differs(first, f"its decision was made on position {record.at_seq} and policy {record.policy_version}")
        if remake:
            self._remake(events, record)
        for audited in events:
            self._fold(audited)
        if not remake:
            self._check_invariants()
        tally = self.report.decisions.setdefault(type(record.command).__name__, Tally())
        if len(self.report.differences) > found:
            tally.differing += 1
        elif remake:
            tally.remade += 1
        else:
            tally.validated += 1

    def _remake(self, events: list[Audited], record: DecisionRecord) -> None:
        outcome = self._decide(self._state, record.command, record.now)
        first = events[0].seq
        if isinstance(outcome, Refusal):
            self._differs(first, f"made again, its decision is a refusal: {outcome.code}")
            return
        if len(outcome.events) != len(events) or outcome.more != record.more:
            self._differs(first, f"made again, its decision has {len(outcome.events)} events, not {len(events)}")
        for audited, payload in zip(events, outcome.events, strict=False):
            if audited.event is not None and (audited.event.payload, audited.event.occurred_at) != (payload, record.now):
                self._differs(audited.seq, f"made again, its decision says {payload}")

    def _fold(self, audited: Audited) -> None:
        if audited.problem:
            self._differs(audited.seq, audited.problem)
        event = audited.event
        if event is None:
            raise BrokenInvariant("an event cannot be read")
        for change in changes(self._state, (event.payload,)):
            apply_claim(self._claims.setdefault(change.node, {}), change)
        evolve(self._state, event)
        self.report.events[event.kind] += 1
        snapshot = self._snapshots.get(event.seq)
        if snapshot is not None:
            kept = unpack(snapshot)
            if kept is None or dump_state(kept) != dump_state(self._state):
                self._differs(event.seq, "the snapshot of this position is not what the log folds to")

    def _compare_claims(self, stored: dict[Gpu, tuple[str, int]]) -> None:
        folded = {(node, gpu): holder for node, holders in self._claims.items() for gpu, holder in holders.items()}
        for node, gpu in sorted(gpu for gpu in folded.keys() | stored.keys() if folded.get(gpu) != stored.get(gpu)):
            told = f"{folded.get((node, gpu))} by the log and by {stored.get((node, gpu))} by the table"
            self._differs(self._state.seq, f"GPU {gpu} of node {node} is claimed by {told}")
        for (node, gpu), (job, _) in folded.items():
            if job != self._state.nodes[node].job and job not in self._state.nodes[node].shares:
                self._differs(self._state.seq, f"GPU {gpu} of node {node} is claimed by {job}, which does not hold it")

    def _check_invariants(self) -> None:
        for broken in invariants.check(self._state):
            self._differs(self._state.seq, broken)

    def _differs(self, seq: int, what: str) -> None:
        self.report.differences.append(Difference(seq=seq, what=what))

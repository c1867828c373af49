"""Imports into the log, and exports from it.

An import is one append: all of its facts or none. They were worked out on the state at some position; should anything of inventory or
health have come in since, nothing is stored and they are worked out anew. An import with a request id that has led to facts is not worked
out again: it is told from those.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile

from clusters.domain import health_events, inventory_events
from clusters.domain.books import CONDITIONS
from clusters.domain.clock import cluster_now
from clusters.domain.dump import dump_state, load_state
from clusters.domain.errors import ClusterExists, InvalidRequest, SourceConflict, UnknownCluster
from clusters.domain.events import MAX_SOURCE_ID, PAYLOADS, NewEvent, Payload
from clusters.domain.evolve import evolve
from clusters.domain.health import IMPORT_SOURCE
from clusters.domain.ids import Instant
from clusters.domain.state import SIMULATED, ClusterState
from clusters.eventlog.facts import number_facts
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import append_facts, default_log, opening
from clusters.inventory.delta import delta, kept_places, known_from
from clusters.inventory.export import native_yaml
from clusters.inventory.model import BadInventory, Known, Options, Problem, TooManyAbsent
from clusters.inventory.names import plain
from clusters.inventory.reading import read_source

#: How often an import is worked out before it gives way to whoever keeps changing the cluster meanwhile.
ATTEMPTS = 10

#: Share of a cluster's nodes of which more are not taken away without a word: the file is more often a part, or another cluster's.
MOST_ABSENT = 0.2

_HARMLESS = (inventory_events.ClusterCreated, inventory_events.ClockSet, inventory_events.ArrivalsPlanned)
#: Kinds of events that change what an import compares with.
_RELEVANT = {
    kind for kind, cls in PAYLOADS.items() if cls.__module__ in (inventory_events.__name__, health_events.__name__) and cls not in _HARMLESS
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import found, and what it did."""

    racks: int  # of the file
    nodes: int  # of the file
    events: int  # facts appended, or to be appended by a dry run
    states: dict[str, int]  # nodes of the cluster by condition, afterwards; conditions that no node has are left out
    problems: tuple[Problem, ...]  # what is wrong with the file, but does not keep it from being imported
    facts: tuple[Payload, ...] = field(default=(), repr=False)  # those appended, or to be appended
    after: ClusterState | None = field(default=None, repr=False, compare=False)  # what a dry run leads to


@dataclass(frozen=True, slots=True, kw_only=True)
class _Basis:
    """What an import is worked out on."""

    known: Known
    at_seq: int  # 0: there is no such cluster yet
    now: Instant
    twin: ClusterState | None  # a state of its own, for a dry run to go on with


class _Overtaken(Exception):
    """The cluster changed while the import was worked out; never leaves this module."""


def inventory_import(  # noqa: PLR0913  (one keyword for each thing that a user can say of an import)
    *,
    cluster: str,
    content: bytes,
    filename: str,
    by: str,
    rack_label: str | None = None,
    domain_label: str | None = None,
    topology: bytes | None = None,
    create: bool = False,
    dry_run: bool = False,
    request_id: str | None = None,
    allow_absent: bool = True,
) -> ImportReport:
    """Bring the cluster to what the file says; raises BadInventory, UnknownCluster, InvalidRequest, SourceConflict.

    Without `allow_absent`, a file that leaves out more than MOST_ABSENT of the nodes is TooManyAbsent, except for a dry run.
    """
    source = read_source(content, Options(rack_label=rack_label, domain_label=domain_label, topology=topology))
    labels = "".join(f"\0{label}" for label in (rack_label, domain_label) if label)
    digest = hashlib.blake2b(content + (topology or b"") + labels.encode(), digest_size=8).hexdigest()
    keyed = None if dry_run or request_id is None else _name_of(by, request_id)
    correlation = plain(f"import {digest} of {filename} by {by}", MAX_SOURCE_ID)
    for _ in range(ATTEMPTS):
        basis = _basis(cluster, create=create, dry_run=dry_run)
        inventory = source.inventory(basis.known)
        if inventory.refused:
            raise BadInventory(inventory.problems)
        repeated = _repeated(cluster, keyed, correlation) if keyed and basis.at_seq else []
        name = keyed or f"{digest}@{basis.at_seq}"
        facts = repeated or [
            NewEvent(payload, basis.now, IMPORT_SOURCE, f"{name}/{number}", correlation=correlation)
            for number, payload in enumerate(delta(basis.known, inventory))
        ]
        missing = _missing(cluster, basis.known, facts, allowed=allow_absent or dry_run)
        if any(problem.fatal for problem in missing):
            raise TooManyAbsent(missing)
        try:
            states = _states_after(basis.twin, facts) if basis.twin else _store(cluster, basis, [] if repeated else facts, by)
        except (_Overtaken, ClusterExists):
            continue
        return ImportReport(
            racks=len(inventory.racks),
            nodes=len(inventory.nodes),
            events=len(facts),
            states=states,
            problems=(*inventory.problems, *kept_places(basis.known, inventory), *missing),
            facts=tuple(fact.payload for fact in facts),
            after=basis.twin,
        )
    raise SourceConflict(f"cluster {cluster!r} changed each of the {ATTEMPTS} times that the import was worked out; try again")


def inventory_export(cluster: str) -> str:
    """The cluster's inventory as native YAML; imported again, it appends nothing. Raises UnknownCluster."""
    with default_log().live(cluster).reading() as state:
        known = known_from(state)
    return native_yaml(known)


def _missing(cluster: str, known: Known, facts: list[NewEvent], *, allowed: bool) -> list[Problem]:
    """A file that leaves out nodes with work on them, or many nodes, is more often the wrong file than the truth."""
    gone = {fact.payload.node for fact in facts if isinstance(fact.payload, inventory_events.NodeAbsent)}
    if not gone:
        return []
    with default_log().live(cluster).reading() as state:
        jobs = {job for node in gone & state.nodes.keys() for job in (state.nodes[node].job, *state.nodes[node].shares) if job}
    present = gone | {name for name, node in known.nodes.items() if not node.absent}
    many = len(gone) > MOST_ABSENT * len(present)
    if not (jobs or many):
        return []
    used = f", some of them used by jobs ({len(jobs)})" if jobs else ""
    message = f"{len(gone)} of {len(present)} nodes are not in this file and become absent{used}; look whether this is the whole file"
    return [Problem(position="", name="", message=message, fatal=many and not allowed)]


def _name_of(by: str, request_id: str) -> str:
    """What the facts of a person's request are known by; short, whatever the two are."""
    return "request-" + hashlib.blake2b(f"{by}\0{request_id}".encode(), digest_size=16).hexdigest()


def _repeated(cluster: str, name: str, correlation: str) -> list[NewEvent]:
    """The facts that the same request led to before; none where it is new. Raises SourceConflict where it meant another file."""
    first = default_log().said(cluster, IMPORT_SOURCE, f"{name}/0")
    if first is None:
        return []
    if first.correlation != correlation:
        raise SourceConflict("this request id was used before for another import; draw a new one")
    stored = takewhile(lambda event: event.correlation == correlation, default_log().read(cluster, first.seq - 1))
    return [NewEvent(event.payload, event.occurred_at, event.source, event.source_id, correlation=correlation) for event in stored]


def _basis(cluster: str, *, create: bool, dry_run: bool) -> _Basis:
    try:
        with default_log().live(cluster).reading() as state:
            if state.connector == SIMULATED:
                raise InvalidRequest("cluster", cluster, "give a cluster that is not simulated: the racks of this one are its fleet's own")
            twin = load_state(dump_state(state)) if dry_run else None
            return _Basis(known=known_from(state), at_seq=state.seq, now=cluster_now(state, wall_now()), twin=twin)
    except UnknownCluster:
        if not create:
            raise
    return _Basis(known=Known(), at_seq=0, now=wall_now(), twin=ClusterState() if dry_run else None)


def _store(cluster: str, basis: _Basis, facts: list[NewEvent], by: str) -> dict[str, int]:
    """Append the facts to the log they were worked out on, or to a new one; returns what _states says then."""
    if basis.at_seq == 0:
        default_log().create(cluster, [*opening(cluster, by=by, cluster_time=basis.now), *facts])
    else:
        append_facts(cluster, facts, lambda: _refuse_if_overtaken(cluster, basis.at_seq))
    with default_log().live(cluster).reading() as state:
        return _states(state)


def _refuse_if_overtaken(cluster: str, at_seq: int) -> None:
    if any(event.kind in _RELEVANT for event in default_log().read(cluster, at_seq)):
        raise _Overtaken


def _states_after(twin: ClusterState, facts: list[NewEvent]) -> dict[str, int]:
    for event in number_facts(facts, twin.seq + 1, wall_now()):
        evolve(twin, event)
    return _states(twin)


def _states(state: ClusterState) -> dict[str, int]:
    counts = Counter(node.condition for node in state.nodes.values())
    return {condition.value: counts[condition] for condition in CONDITIONS if counts[condition]}

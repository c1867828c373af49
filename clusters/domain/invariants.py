"""What must hold at every position of every log. `check` is slow and thorough: tests and verification call it, the fold does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from clusters.domain.books import Use
from clusters.domain.books_of import domain_uses, read_books
from clusters.domain.checks import is_broken, is_unasked
from clusters.domain.defrag import PlanStatus
from clusters.domain.dense import build_space
from clusters.domain.exclusive import closed_by
from clusters.domain.health import condition_of
from clusters.domain.jobs import ACTIVE, QUEUED
from clusters.domain.queue import place_of
from clusters.domain.space import Space
from clusters.domain.state import ClusterState, is_limited, is_watched


def check(state: ClusterState) -> list[str]:
    """Every broken invariant in words; empty when all hold."""
    return [
        *_books_sum(state),
        *_one_owner(state),
        *_slices_whole(state),
        *_spares_are_free(state),
        *_queue_is_the_waiting(state),
        *_holders_hold(state),
        *_limits_run(state),
        *_watched_are_those_to_watch(state),
        *_checks_are_of_repaired_nodes(state),
        *_usage_is_true(state),
        *_exclusive_work_is_alone(state),
        *_space_is_true(state),
        *_disruptions_are_open(state),
        *_plans_are_in_step(state),
        *_spares_are_lent_to_what_gives_them_back(state),
    ]


def _disruptions_are_open(state: ClusterState) -> Iterator[str]:
    for job in state.jobs.values():
        broken = bool(job.lost_slots) if job.state in ACTIVE else False
        if broken and job.disruption is None:
            yield f"job {job.id} lacks nodes, but stands still since nobody knows when"
        if job.disruption is not None and not (broken or (job.state in ACTIVE and job.unstarted)):
            yield f"job {job.id} is {job.state} and lacks nothing, but is said to stand still"


def _plans_are_in_step(state: ClusterState) -> Iterator[str]:
    for known in state.defrag.values():
        steps = range(len(known.plan.moves))
        for what in (known.begun, known.ended):
            if len(set(what)) < len(what) or any(step not in steps for step in what):
                yield f"plan {known.id} has {len(steps)} steps, and is said to have taken {what}"
        touched = known.by or known.approved_at is not None or known.asked_at is not None or known.begun or known.ended
        if known.status is PlanStatus.PROPOSED and touched:
            yield f"plan {known.id} waits for a decision, but has been begun with"
        if known.status is not PlanStatus.PROPOSED and (known.status is not PlanStatus.RUNNING or known.approved_at is None):
            yield f"plan {known.id} is {known.status}, and approved at {known.approved_at}"


def _books_sum(state: ClusterState) -> Iterator[str]:
    books = read_books(state)
    if sum(books.condition.values()) != books.nodes or sum(books.use.values()) != books.nodes:
        yield f"the books do not sum to {books.nodes} nodes: {books}"
    for node in state.nodes.values():
        if node.condition != condition_of(node.marks):
            yield f"node {node.name} is {node.condition}, but its marks say {condition_of(node.marks)}"


def _watched_are_those_to_watch(state: ClusterState) -> Iterator[str]:
    due = {node.name for node in state.nodes.values() if is_watched(node)}
    if state.watched != due:
        yield f"verdicts watch {sorted(state.watched ^ due)[:5]}, or should"


def _checks_are_of_repaired_nodes(state: ClusterState) -> Iterator[str]:
    if state.unasked != {node.name for node in state.nodes.values() if is_unasked(node)}:
        yield f"checks are still to be asked for on other nodes than {sorted(state.unasked)[:5]}"
    for node in state.nodes.values():
        if node.asked_at is not None and node.unchecked is None:
            yield f"node {node.name} waits for no check, but was asked for one"
        if node.unchecked is not None and is_broken(node):
            yield f"node {node.name} is {node.condition}, and waits for a check all the same"


def _one_owner(state: ClusterState) -> Iterator[str]:
    held = {(name, job.id) for job in state.jobs.values() for name in job.held_nodes}
    owned = {(node.name, job) for node in state.nodes.values() for job in (node.job, *node.shares) if job}
    if held != owned:
        yield f"jobs and nodes disagree on who holds what: {sorted(held ^ owned)[:5]}"
    for node in state.nodes.values():
        masks = list(node.shares.values())
        if node.job and masks:
            yield f"node {node.name} is held whole by {node.job} and shared by {sorted(node.shares)}"
        if sum(mask.bit_count() for mask in masks) != _union(masks).bit_count():
            yield f"a GPU of node {node.name} has two owners"


def _union(masks: list[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _slices_whole(state: ClusterState) -> Iterator[str]:
    for job in state.jobs.values():
        if job.state not in ACTIVE:
            continue
        for number, part in enumerate(job.slices):
            names = [name for name in part.nodes if name is not None]
            if {state.nodes[name].domain for name in names} - {part.domain}:
                yield f"slice {number} of {job.id} leaves its domain {part.domain}"
            if any(name not in job.held_nodes for name in names):
                yield f"slice {number} of {job.id} counts on a node it does not hold"
        if bool(job.lost_slots) != (job.id in state.lost):
            yield f"job {job.id} has lost slots {job.lost_slots}, but is{'' if job.id in state.lost else ' not'} listed as lost"


def _spares_are_free(state: ClusterState) -> Iterator[str]:
    topology = state.topology
    for domain, group in enumerate(topology.domains):
        for bit, use in enumerate(domain_uses(state, domain)):
            node = state.nodes[topology.nodes[group.first + bit].name]
            if use in (Use.SPARE, Use.IDLE, Use.STRANDED) and (node.job or node.shares or not node.in_service):
                yield f"node {node.name} counts as {use}, but is {node.condition} and held by {node.job or sorted(node.shares)}"


def _spares_are_lent_to_what_gives_them_back(state: ClusterState) -> Iterator[str]:
    for name, job in state.lent.items():
        if name not in state.nodes or state.nodes[name].job != job or not state.jobs[job].request.restartable:
            yield f"node {name} is lent to {job}, which does not hold it or cannot give it back"


def _queue_is_the_waiting(state: ClusterState) -> Iterator[str]:
    waiting = sorted(job.id for job in state.jobs.values() if job.state in QUEUED)
    if waiting != sorted(state.queue):
        yield "the queue does not hold the waiting jobs and no others"
    for line in state.queue.lines.values():
        jobs = [state.jobs[name] for _, _, name in line.jobs]
        if line.jobs != sorted(map(place_of, jobs)) or any(job.line is not line for job in jobs):
            yield f"the line of {jobs[0].id} is not in order"
        if set(line.fresh) != {job.id for job in jobs if not job.blocked}:
            yield f"the line of {jobs[0].id} does not know which of its jobs are still to be told why they wait"
        told = {code: sorted(job.blocked_since for job in jobs if job.blocked == code) for code in {job.blocked for job in jobs} - {""}}
        if line.codes != told:
            yield f"the line of {jobs[0].id} does not know what its jobs were told, and when: {line.codes}"
    aside = {job.id for job in state.jobs.values() if job.state in QUEUED and (job.awaits or job.id in state.orphaned)}
    if aside != set(state.queue.aside):
        yield "the jobs aside are not those that wait for others"


def _usage_is_true(state: ClusterState) -> Iterator[str]:
    held: Counter[str] = Counter()
    for node in state.nodes.values():
        if node.job:
            held[state.jobs[node.job].request.team] += node.gpus
        for name, gpus in node.shares.items():
            held[state.jobs[name].request.team] += gpus.bit_count()
    told = {team: use.gpus for team, use in state.usage.teams.items() if use.gpus}
    if told != held:
        yield f"the teams hold {dict(held)}, not {told}"


def _holders_hold(state: ClusterState) -> Iterator[str]:
    if state.holders != {job.id: job for job in state.jobs.values() if job.held_nodes}:
        yield "the jobs that hold nodes are not those that are listed so"


def _limits_run(state: ClusterState) -> Iterator[str]:
    if {job.id for job in state.jobs.values() if is_limited(job)} != state.limited:
        yield "the jobs whose time limit runs are not those that are listed so"


def _exclusive_work_is_alone(state: ClusterState) -> Iterator[str]:
    asked = {job.id for job in state.jobs.values() if job.request.exclusive}
    if asked != state.exclusive:
        yield f"jobs listed as exclusive are {sorted(state.exclusive)}, not {sorted(asked)}"
    for name in sorted(asked):
        closed = closed_by(state, state.jobs[name], state.topology)
        for node in state.nodes.values():
            domain = state.topology.domain_index.get(node.domain or "", -1)
            if domain >= 0 and closed >> domain & 1 and {node.job, *node.shares} - {"", name}:
                yield f"node {node.name} is in a domain of {name}, which is exclusive, and held by {node.job or sorted(node.shares)}"


def _space_is_true(state: ClusterState) -> Iterator[str]:
    fresh = build_space(state)
    for name in Space.COMPARED:
        kept, built = getattr(state.space, name), getattr(fresh, name)
        if name == "wants":
            kept, built = [sorted(map(str, want)) for want in kept], [sorted(map(str, want)) for want in built]
        if kept != built:
            yield f"the dense state's {name} differs from one built anew"

"""Which running work would have to be elsewhere, or wait: one domain is freed, and each piece of work has a proven new place; or work of
less priority gives its nodes back.

Candidates are found by counting, domain by domain: what has to leave for one more slice to fit there, at the least cost. Only those are
proven, the cheapest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clusters.domain.decision import Refusal
from clusters.domain.disruption import age_of_work
from clusters.domain.events import Payload
from clusters.domain.ids import Duration
from clusters.domain.job_events import NodeSwapped, SliceAssignment, SliceMoved
from clusters.domain.space_events import SpaceReserved
from clusters.domain.state import Job
from clusters.domain.teams import class_of
from scheduling.domain.counterfactuals.near import lacking, whole_shape
from scheduling.domain.counterfactuals.question import Change, Counterfactual, Kind, Question, gone
from scheduling.domain.moving import Work, frees, movable_groups, names_of, price, take_away
from scheduling.domain.placement import place_shape
from scheduling.domain.preemption import gpus_held, may_be_preempted
from scheduling.domain.recovery import recover_job
from scheduling.domain.shape import Shape, slice_shape
from scheduling.domain.tethers import tether
from scheduling.domain.trial import Trial
from scheduling.domain.wording import in_gpu_hours, listed

#: Domains for which moves are proven, the cheapest first.
MOST_PROOFS = 24
#: Passes run for either kind: where jobs ahead take what the cheapest frees, they mostly take what the next one frees too.
MOST_PASSES = 2


class _Option(NamedTuple):
    """What would leave one domain. Options compare by cost, then by place."""

    cost: Duration
    domain: int
    work: list[Work]


def moves(question: Question) -> Counterfactual | None:
    """The cheapest restartable work of one domain that has a place elsewhere and makes room by leaving."""
    question.passes = MOST_PASSES
    shape = whole_shape(question)
    if shape is None:
        return None
    for option in sorted(_options(question, shape), key=lambda option: option[:2])[:MOST_PROOFS]:
        places = _new_places(question, option)
        if places is not None and question.starts(_moved(option, places)):
            return _told_moves(question, option, places)
        if not question.passes:
            break
    return None


class _Group(NamedTuple):
    """What must leave together, if it does. Groups of one domain share no nodes."""

    cost: Duration
    names: tuple[tuple[str, int], ...]
    nodes: int  # that come free
    work: list[Work]


def _options(question: Question, shape: Shape) -> list[_Option]:
    state, topology = question.state, question.state.topology
    found: list[_Option] = []
    for name, work in question.shared.work.items():
        domain = topology.domain_index.get(name)
        if domain is None or (missing := lacking(question, shape, domain)) <= 0:
            continue
        leaving = [(nodes, group) for group in movable_groups(state, name, work) if (nodes := frees(state, group))]
        if sum(nodes for nodes, _ in leaving) >= missing:
            groups = [_Group(price(state, group, question.now), names_of(group), nodes, group) for nodes, group in leaving]
            cost, chosen = _cover(question, sorted(groups), missing)
            found.append(_Option(cost, domain, chosen))
    return found


def _cover(question: Question, ranked: Sequence[_Group], missing: int) -> tuple[Duration, list[Work]]:
    """Groups that free so many nodes, and their price: the cheapest alone, or the cheapest together without the needless.

    All together do; they come the cheapest first.
    """
    together: list[_Group] = []
    freed = 0
    for group in ranked:
        together.append(group)
        freed += group.nodes
        if freed >= missing:
            break
    for group in together[::-1]:
        if freed - group.nodes >= missing:
            together.remove(group)
            freed -= group.nodes
    flat = [work for group in together for work in group.work]
    cost = price(question.state, flat, question.now) if len(together) > 1 else together[0].cost
    return next(((one.cost, one.work) for one in ranked if one.cost < cost and one.nodes >= missing), (cost, flat))


def _new_places(question: Question, option: _Option) -> list[SliceAssignment] | None:
    """Where the work would run, beside the job that waits for its nodes; None unless all of it has a place."""
    trial = question.fork(_taken_away(option))
    question.tries -= 1
    if not _settles(question, trial):
        return None
    places: list[SliceAssignment] = []
    for job, number in option.work:
        shape = slice_shape(trial.topology, job.request, trial.policy, len(job.slices[number].nodes))
        area = tether(trial.topology, job, number) & ~(1 << option.domain) & ~trial.shut_to(job.request)
        outcome = place_shape(trial.space, shape, trial.policy, (area,))
        if isinstance(outcome, Refusal):
            return None
        _settle(trial, job, outcome[0])
        places.append(outcome[0])
    return places


def _settles(question: Question, trial: Trial) -> bool:
    """Whether the job has room there, and takes it."""
    if question.stalled:
        return question.has_room(trial)
    own = trial.place(question.request, question.job)
    if isinstance(own, Refusal):
        return False
    trial.take(question.request, own)
    return True


def _taken_away(option: _Option) -> Change:
    def change(trial: Trial) -> None:
        for job, number in option.work:
            take_away(trial, option.domain, job, number)

    return change


def _moved(option: _Option, places: Sequence[SliceAssignment]) -> Change:
    def change(trial: Trial) -> None:
        _taken_away(option)(trial)
        for (job, _), place in zip(option.work, places, strict=True):
            _settle(trial, job, place)

    return change


def _settle(trial: Trial, job: Job, place: SliceAssignment) -> None:
    trial.take_slice(place)
    if job.width > 1:
        trial.space.add_want(trial.topology.domain_index[place.domain], job.request.spares)


def _told_moves(question: Question, option: _Option, places: Sequence[SliceAssignment]) -> Counterfactual:
    pieces = [
        {"job": job.id, "slice": number, "domain": place.domain, "nodes": place.nodes, "gpus": place.gpus}
        for (job, number), place in zip(option.work, places, strict=True)
    ]
    names = list(dict.fromkeys(job.id for job, _ in option.work))
    where = list(dict.fromkeys(place.domain for place in places))
    home = question.state.topology.domains[option.domain].name
    text = f"{question.would} if {listed(names)} moved from {home} to {listed(where)}"
    cost = in_gpu_hours(option.cost)
    return Counterfactual(kind=Kind.MOVE, text=text, params={"jobs": tuple(names), "moves": tuple(pieces)}, cost_gpu_hours=cost)


# ---- work that would wait


def preemptions(question: Question) -> Counterfactual | None:
    """The cheapest restartable work of less priority whose nodes the job could have: of one domain, or of all."""
    question.passes = MOST_PASSES
    victims = _victims(question)
    plans = [plan for group in _by_domain(question, victims) if (plan := question.least(group, gone))]
    plans += [plan] if (plan := question.least(victims, gone)) else []
    for plan in sorted(plans, key=lambda plan: (sum(_lost(question, job) for job in plan), [job.seq for job in plan])):
        if question.starts(gone(plan)):
            return _told_victims(question, plan)
    return None


def _victims(question: Question) -> list[Job]:
    """Work that may give way to the job, the cheapest first."""
    state, own = question.state, _priority(question, question.job)
    equals = question.stalled  # work that runs and lacks nodes goes before equal work, as plans have it
    among = (job for job in state.holders.values() if job is not question.job and may_be_preempted(state.policy, job))
    found = [job for job in among if _priority(question, job) < own + equals]
    return sorted(found, key=lambda job: (_lost(question, job), job.seq))


def _priority(question: Question, job: Job) -> int:
    """What a job has by its class and its own priority; how long it has waited gives no right to other jobs' nodes."""
    return class_of(question.state.policy.classes, job.request.priority_class).priority + job.priority


def _lost(question: Question, job: Job) -> Duration:
    return gpus_held(question.state, job) * age_of_work(job, question.now)


def _by_domain(question: Question, victims: Sequence[Job]) -> list[list[Job]]:
    """The victims in each domain that has room for one more slice without them."""
    shape = whole_shape(question)
    if shape is None:
        return []
    state = question.state
    domains: dict[str, list[Job]] = {}
    for job in victims:
        for name in dict.fromkeys(part.domain for part in job.slices):
            domains.setdefault(name, []).append(job)
    found: list[list[Job]] = []
    for name, jobs in domains.items():
        inside = {node for job in jobs for part in job.slices if part.domain == name for node in part.nodes if node is not None}
        domain = state.topology.domain_index.get(name)
        if domain is not None and len(inside) >= lacking(question, shape, domain):
            found.append(jobs)
    return found


def _told_victims(question: Question, jobs: Sequence[Job]) -> Counterfactual:
    names = tuple(job.id for job in jobs)
    nodes = _nodes_got(question, question.fork(gone(jobs)))
    text = f"{question.would} if {listed(names)} gave way, of {'no higher' if question.stalled else 'less'} priority"
    cost = in_gpu_hours(sum(_lost(question, job) for job in jobs))
    return Counterfactual(kind=Kind.PREEMPT, text=text, params={"jobs": names, "nodes": nodes}, cost_gpu_hours=cost)


def _nodes_got(question: Question, trial: Trial) -> tuple[str, ...]:
    """The nodes that the job would have in this trial, or that its slices would for those they lost."""
    if question.stalled:
        return tuple(name for event in recover_job(trial, question.job).events for name in _nodes_of(event))
    outcome = trial.place(question.request, question.job)
    return () if isinstance(outcome, Refusal) else tuple(name for part in outcome for name in part.nodes)


def _nodes_of(event: Payload) -> tuple[str, ...]:
    if isinstance(event, NodeSwapped):
        return (event.new,)
    return event.assignment.nodes if isinstance(event, SliceMoved) else event.nodes if isinstance(event, SpaceReserved) else ()

"""Which slice size suits a plan, and why.

Sizes come from `clusters.domain.slices`, as those of every request do: a choice is what the request is cut into with that `max_slice`.
Order of choice: leaves the domain its spares; each slice has a power of two of GPUs, from half of the usual slice up; fewest slices; the
larger size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clusters.domain.constraints import ParallelPlan
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.slices import auto_slice, least_slice, slice_sizes
from scheduling.domain.parallelism.check import unit_nodes
from scheduling.domain.wording import many

#: Choices that are worth telling.
MOST_CHOICES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The nodes and domains that a plan is asked about."""

    gpus_per_node: int
    domain_nodes: int  # of the usual domain

    def __post_init__(self) -> None:
        """Refuse a fleet without GPUs; raises InvalidRequest."""
        for field in ("gpus_per_node", "domain_nodes"):
            if getattr(self, field) < 1:
                raise InvalidRequest(field, getattr(self, field), "give a whole number from 1; this cluster may have no nodes yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One slice size and what comes of it."""

    size: int  # max_slice, nodes
    slices: tuple[int, ...]  # nodes of each slice, larger first
    power_of_two: bool  # each slice has a power of two of GPUs
    spares: int  # nodes of the domain beside the largest slice


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceAdvice:
    """The choice advised, none where no slice holds a group, and the reasons."""

    nodes: int
    unit: int  # nodes that whole groups fill
    best: Choice | None
    why: tuple[str, ...]
    choices: tuple[Choice, ...]  # best first


def advise_slice(plan: ParallelPlan, fleet: Fleet) -> SliceAdvice:
    """The slice size for this plan; raises InvalidRequest where its ranks do not fill whole nodes."""
    nodes, rest = divmod(plan.gpus, fleet.gpus_per_node)
    if rest or not nodes:
        expected = f"give tp x ep x pp x dp as a multiple of {fleet.gpus_per_node}, the GPUs of a node"
        raise InvalidRequest("plan", plan.gpus, expected)
    unit = unit_nodes(plan, fleet.gpus_per_node)
    choices = tuple(sorted(_choices(nodes, unit, fleet), key=lambda choice: _order(choice, fleet)))[:MOST_CHOICES]
    best = choices[0] if choices else None
    why = _reasons(plan, fleet, best, unit) if best else _too_wide(plan, fleet, unit, nodes)
    return SliceAdvice(nodes=nodes, unit=unit, best=best, why=why, choices=choices)


def better_slice(plan: ParallelPlan, fleet: Fleet, slices: Sequence[int]) -> str:
    """What would suit the plan better than these slices, in words; "" where nothing would, or the plan fills no whole nodes."""
    if plan.gpus % fleet.gpus_per_node:
        return ""
    best = advise_slice(plan, fleet).best
    if best is None or best.slices == tuple(slices):
        return ""
    each = f"slices of {best.size * fleet.gpus_per_node} GPUs, a power of two" if best.power_of_two else f"slices of {best.size} nodes"
    return f"for the groups of its plan max_slice {best.size} would give {each}, with {best.spares} nodes of the domain beside them"


def is_power_of_two(number: int) -> bool:
    """Whether the number is 1, 2, 4, 8 and so on."""
    return number > 0 and number & number - 1 == 0


def _choices(nodes: int, unit: int, fleet: Fleet) -> Iterator[Choice]:
    """The sizes that differ in how they cut the job, largest first."""
    known: set[tuple[int, ...]] = set()
    for size in range(min(nodes, fleet.domain_nodes) // unit * unit, 0, -unit):
        request = JobRequest(name="plan", kind=JobKind.TRAINING, nodes=nodes, slice_size=unit, max_slice=size)
        try:
            slices = slice_sizes(request, nodes, size)
        except InvalidRequest:  # the ranks fill whole nodes, but no whole number of units
            return
        if slices not in known:
            known.add(slices)
            whole = all(is_power_of_two(part * fleet.gpus_per_node) for part in slices)
            yield Choice(size=slices[0], slices=slices, power_of_two=whole, spares=fleet.domain_nodes - slices[0])


def _order(choice: Choice, fleet: Fleet) -> tuple[bool, bool, int, int]:
    usual = auto_slice(fleet.domain_nodes)
    tiles = choice.power_of_two and (len(choice.slices) == 1 or choice.size >= least_slice(usual))
    return choice.size > usual, not tiles, len(choice.slices), -choice.size


def _reasons(plan: ParallelPlan, fleet: Fleet, best: Choice, unit: int) -> tuple[str, ...]:
    gpus, usual = best.size * fleet.gpus_per_node, auto_slice(fleet.domain_nodes)
    held = gpus // plan.group
    fills = f"the TP x EP group of {plan.group} GPUs: whole groups fill multiples of {many(unit, 'node')} of {fleet.gpus_per_node} GPUs"
    whole = f"each slice holds whole groups, {held} where it has {best.size} nodes, so none leaves its domain"
    tiles = f"{gpus} GPUs are a power of two, which groups of a power of two tile"
    odd = f"{gpus} GPUs are no power of two; no slices of {least_slice(usual)} to {usual} nodes would all be"
    kept = f"{best.spares} of the {fleet.domain_nodes} nodes of a domain stay beside it, for spares and other work"
    short = f"only {best.spares} of the {fleet.domain_nodes} nodes of a domain stay beside it: a failed node soon moves the whole slice"
    return fills, whole, tiles if is_power_of_two(gpus) else odd, kept if best.size <= usual else short


def _too_wide(plan: ParallelPlan, fleet: Fleet, unit: int, nodes: int) -> tuple[str, ...]:
    if unit <= fleet.domain_nodes:
        return (f"whole groups fill multiples of {unit} nodes, the job has {nodes}: choose pp x dp so that it has a multiple of them",)
    most = fleet.domain_nodes * fleet.gpus_per_node
    wide = f"the TP x EP group of {plan.group} GPUs fills {unit} nodes; a domain has {fleet.domain_nodes}"
    fits = next((ep for ep in range(most // plan.tp, 0, -1) if plan.ep % ep == 0 and is_power_of_two(ep * plan.tp)), 0)
    return wide, f"ep {fits} would fit" if fits else f"give a tp of at most {most}"

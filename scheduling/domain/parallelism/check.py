"""Whether the groups of a plan can stay in their domains: each TP x EP group must lie whole in one slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from clusters.domain.constraints import ParallelPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProblem:
    """Why a plan does not fit: the field, its value, and what would be right."""

    field: str
    value: str
    expected: str


def unit_nodes(plan: ParallelPlan, gpus_per_node: int) -> int:
    """The fewest nodes that whole TP x EP groups fill: the unit of the job's slices (EP 64 on nodes of 4 GPUs: 16)."""
    return lcm(plan.group, gpus_per_node) // gpus_per_node


def check_plan(plan: ParallelPlan, nodes: int, gpus_per_node: int, slice_sizes: Sequence[int]) -> PlanProblem | None:
    """Why the plan does not fit `nodes` whole nodes cut into slices of `slice_sizes` nodes; None where it does.

    The plan has one rank for each GPU. Each slice takes whole TP x EP groups, so that contiguous ranks keep each group in its domain
    whatever domains the slices are placed in, or moved to. Ask wherever a request is cut: at submission, and at each placement, as the
    policy may have changed in between. Work below a node is one node with as many GPUs as it asks for.
    """
    gpus = nodes * gpus_per_node
    if plan.gpus != gpus:
        told = f"tp {plan.tp} x ep {plan.ep} x pp {plan.pp} x dp {plan.dp} = {plan.gpus} ranks"
        return PlanProblem(
            field="plan", value=told, expected=f"give one rank for each of the {gpus} GPUs{_other_size(plan, gpus_per_node)}"
        )
    unit = unit_nodes(plan, gpus_per_node)
    torn = next((size for size in slice_sizes if size % unit), None)
    if torn is None:
        return None
    told = f"tp {plan.tp} x ep {plan.ep}"
    if unit > max(slice_sizes):
        expected = f"give groups that fit in a slice: this one fills {unit} nodes, and slices have at most {max(slice_sizes)}"
    else:
        expected = f"give slices of whole groups: multiples of {unit} nodes, not {torn}"
    return PlanProblem(field="plan", value=told, expected=expected)


def _other_size(plan: ParallelPlan, gpus_per_node: int) -> str:
    """What the job's size would have to be, where whole nodes can have it."""
    return "" if plan.gpus % gpus_per_node else f", or ask for {plan.gpus // gpus_per_node} nodes"

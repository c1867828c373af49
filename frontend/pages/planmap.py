"""The racks that a plan concerns, before it and after, as the map draws racks: a column of cells for each.

Every move has a number, which stands in the cells that it leaves and in those that it comes to, so nothing is told by colour alone. What
the plan does not touch is drawn as it is now for a plan that waits; for one that runs or has run, nobody looks up what else was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clusters.domain.books import Condition
from clusters.domain.defrag import PlanStatus
from clusters.domain.state import ClusterState
from frontend.pages.palette import JOB_HUES
from frontend.selectors.clusters import layout_of
from frontend.selectors.nodes import uses_of
from frontend.selectors.plans import RoomPlan

#: Racks that are drawn; a plan for many domains concerns more, and its table names them all.
MOST_RACKS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One node."""

    node: str
    look: str  # classes
    text: str  # number of the move, or a mark
    title: str


def maps_of(state: ClusterState, plan: RoomPlan) -> dict[str, Any]:
    """Both maps: {racks: [{name, freed, before: [Cell], after: [Cell]}], more}; the caller holds the state."""
    racks = _racks(state, plan)
    drawing = _Drawing(state, plan)
    shown = [drawing.rack(name, freed) for name, freed in list(racks.items())[:MOST_RACKS]]
    return {"racks": shown, "more": max(0, len(racks) - MOST_RACKS)}


def _racks(state: ClusterState, plan: RoomPlan) -> dict[str, bool]:
    """Racks concerned, and whether they are freed; these come first, the others as they are drawn."""
    topology = state.topology
    places = [topology.domain_index[name] for name in plan.domains if name in topology.domain_index]
    freed = {
        topology.nodes[index].rack
        for domain in places
        for index in range(topology.domains[domain].first, topology.domains[domain].first + topology.domains[domain].size)
    }
    touched = {name for move in plan.moves for name in (*move.nodes, *move.to_nodes)} | set(plan.nodes)
    others = {state.nodes[name].rack for name in touched if name in state.nodes} - freed
    order = {span.name: number for number, span in enumerate(layout_of(state).racks)}

    def drawn(racks: set[str]) -> list[str]:
        return sorted((name for name in racks if name in order), key=order.__getitem__)

    return dict.fromkeys(drawn(freed), True) | dict.fromkeys(drawn(others), False)


class _Drawing:
    def __init__(self, state: ClusterState, plan: RoomPlan) -> None:
        self._state, self._plan = state, plan
        self._is_open = plan.status == PlanStatus.PROPOSED
        self._leaves = {name: step for step, move in enumerate(plan.moves) for name in move.nodes}
        self._comes = {name: step for step, move in enumerate(plan.moves) for name in move.to_nodes}
        self._kept = frozenset(plan.nodes)

    def rack(self, name: str, freed: bool) -> dict[str, Any]:
        """The columns of one rack."""
        layout = layout_of(self._state)
        span = layout.rack(name)
        nodes = layout.nodes[span.first : span.first + span.count] if span is not None else ()
        topology = self._state.topology
        uses = uses_of(self._state, sorted({topology.domain_of[topology.index[node]] for node in nodes}))
        return {
            "name": name,
            "freed": freed,
            "before": list(self._before(nodes, uses)),
            "after": list(self._after(nodes, uses)),
        }

    def _before(self, nodes: tuple[str, ...], uses: dict[str, str]) -> Iterator[Cell]:
        for node in nodes:
            if node in self._leaves:
                yield self._moved(node, self._leaves[node])
            else:
                yield self._other(node, uses[node])

    def _after(self, nodes: tuple[str, ...], uses: dict[str, str]) -> Iterator[Cell]:
        for node in nodes:
            if node in self._comes:
                yield self._moved(node, self._comes[node])
            elif node in self._kept:
                what = f"for {self._plan.job}" if self._plan.job else "free"
                yield Cell(node=node, look="is-kept", text="+", title=f"{node}, {what}")
            elif node in self._leaves:
                yield Cell(node=node, look="use-idle is-free", text="", title=f"{node}, free")
            else:
                yield self._other(node, uses[node])

    def _moved(self, node: str, step: int) -> Cell:
        job = self._plan.moves[step].job
        return Cell(node=node, look=f"hue-{step % len(JOB_HUES)} is-moved", text=str(step + 1), title=f"{node}, {job}, move {step + 1}")

    def _other(self, node: str, use: str) -> Cell:
        known = self._state.nodes[node]
        if not self._is_open:
            return Cell(node=node, look="is-apart", text="", title=f"{node}, not concerned")
        if known.condition is not Condition.HEALTHY and use == "out":
            return Cell(node=node, look=f"condition-{known.condition.value} is-hurt", text="x", title=f"{node}, {known.condition.value}")
        if known.job or known.shares:
            holder = known.job or ", ".join(sorted(known.shares))
            return Cell(node=node, look=f"use-{use} is-busy", text="", title=f"{node}, {holder} stays")
        return Cell(node=node, look=f"use-{use} is-free", text="", title=f"{node}, {use}")

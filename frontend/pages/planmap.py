"""The racks that a plan concerns, before it and after, as the map draws racks: a column of cells for each.

Every move has a number, which stands in the cells that it leaves and in those that it comes to, so nothing is told by colour alone. What
the plan does not touch is drawn as it was when the plan was made: as it is now for a plan that waits, and as the log has it for one that
runs or has run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clusters.domain.books import Condition
from clusters.domain.state import ClusterState
from frontend.live.layout import Layout, lay_out
from frontend.pages.palette import JOB_HUES, state_of
from frontend.selectors.nodes import uses_of
from frontend.selectors.plans import RoomPlan
from scheduling.plans import state_near

#: Racks that are drawn; a plan for many domains concerns more, and its table names them all.
MOST_RACKS = 24

#: Events that are folded to see what else was there: about a second's work.
MOST_REPLAYED = 100_000

MOST_KEPT = 64
_past: dict[tuple[str, str], dict[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One node."""

    node: str
    look: str  # classes
    text: str  # number of the move, or a mark
    title: str


def past_maps(cluster: str, log_epoch: str, plan: RoomPlan) -> dict[str, Any] | None:
    """The maps of a plan that was decided, on the state that it was made on; None where that lies too far back in the log.

    They never change, so they are kept. Raises UnknownCluster.
    """
    key = (log_epoch, plan.id)
    if key not in _past:
        state = state_near(cluster, plan.at_seq, MOST_REPLAYED)
        if state is None:
            return None
        while len(_past) >= MOST_KEPT:
            _past.pop(next(iter(_past)), None)
        _past[key] = maps_of(state, lay_out(state), plan)
    return _past[key]


def maps_of(state: ClusterState, layout: Layout, plan: RoomPlan, *, known: bool = True) -> dict[str, Any]:
    """Both maps: {racks: [{name, freed, before: [Cell], after: [Cell]}], more, known}.

    `known`: whether the state is the one of the plan, so that it says what else is there; the caller holds it.
    """
    racks = _racks(state, layout, plan)
    drawing = _Drawing(state, layout, plan, known)
    shown = [drawing.rack(name, freed) for name, freed in list(racks.items())[:MOST_RACKS]]
    return {"racks": shown, "more": max(0, len(racks) - MOST_RACKS), "known": known}


def _racks(state: ClusterState, layout: Layout, plan: RoomPlan) -> dict[str, bool]:
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
    order = {span.name: number for number, span in enumerate(layout.racks)}

    def drawn(racks: set[str]) -> list[str]:
        return sorted((name for name in racks if name in order), key=order.__getitem__)

    return dict.fromkeys(drawn(freed), True) | dict.fromkeys(drawn(others), False)


class _Drawing:
    def __init__(self, state: ClusterState, layout: Layout, plan: RoomPlan, known: bool) -> None:
        self._state, self._layout, self._plan, self._known = state, layout, plan, known
        self._leaves = {name: step for step, move in enumerate(plan.moves) for name in move.nodes}
        self._comes = {name: step for step, move in enumerate(plan.moves) for name in move.to_nodes}
        self._kept = frozenset(plan.nodes)

    def rack(self, name: str, freed: bool) -> dict[str, Any]:
        """The columns of one rack."""
        layout = self._layout
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
        if not self._known:
            return Cell(node=node, look="is-apart", text="", title=f"{node}, not concerned")
        if known.condition is not Condition.HEALTHY and use == "out":
            return Cell(
                node=node,
                look=f"condition-{known.condition.value} is-hurt",
                text="x",
                title=f"{node}, {state_of('condition', known.condition.value).label.lower()}",
            )
        if known.job or known.shares:
            holder = known.job or ", ".join(sorted(known.shares))
            return Cell(node=node, look=f"use-{use} is-busy", text="", title=f"{node}, {holder} stays")
        return Cell(node=node, look=f"use-{use} is-free", text="", title=f"{node}, {state_of('use', use).label.lower()}")

"""How events of the inventory, the clock and the policy change the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.domain import inventory_events as ev
from clusters.domain.allocation import fence_node, take_place
from clusters.domain.clock import Clock
from clusters.domain.events import Event, PolicyActivated
from clusters.domain.evolve_health import end_checks, rank_of, refresh_condition
from clusters.domain.evolve_switches import nodes_of, weigh
from clusters.domain.fabric import SWITCHES, fabric_of, mark_fabric
from clusters.domain.health import Flag, Mark
from clusters.domain.racks import SHUT, Rack
from clusters.domain.state import ClusterState, Node


def _created(state: ClusterState, _: Event, payload: ev.ClusterCreated) -> None:
    state.name = payload.name
    state.connector = payload.connector
    state.options = dict(payload.options)


def _rack(state: ClusterState, event: Event, payload: ev.RackRegistered) -> None:
    rack = Rack(payload.rack, payload.block, payload.switch_trays, payload.fabric_gbps)
    known = state.racks.get(payload.rack)
    state.racks[payload.rack] = rack
    state.drop_space()
    if known is not None:
        rack.service = known.service
    if known is not None and known.lost_chips:
        rack.lost_chips = {chip: reason for chip, reason in known.lost_chips.items() if chip[0] <= rack.switch_trays}
        weigh(state, rack, event.seq, event.occurred_at)


def _node_registered(state: ClusterState, event: Event, payload: ev.NodeRegistered) -> None:
    node = state.nodes.setdefault(payload.node, Node(payload.node))
    _describe(state, event, node, payload)
    for flag, source in list(node.marks):
        if flag is Flag.ABSENT:
            del node.marks[flag, source]
    refresh_condition(state, node)


def _node_changed(state: ClusterState, event: Event, payload: ev.NodeChanged) -> None:
    node = state.nodes.get(payload.node)
    if node is not None:
        _describe(state, event, node, payload)
        refresh_condition(state, node)


def _describe(state: ClusterState, event: Event, node: Node, payload: ev.NodeRegistered | ev.NodeChanged) -> None:
    node.rack = payload.rack
    node.told_domain = payload.domain
    node.told_gpus = payload.gpus
    node.product = payload.product
    node.problem = payload.problem
    node.evidence = payload.evidence
    state.drop_space()
    take_place(state, node)
    rack = state.racks.get(node.rack)
    node.shut = rack is not None and rack.service.state in SHUT
    if rack is not None and (rack.lost_chips or (Flag.DEGRADED, SWITCHES) in node.marks):
        mark_fabric(node, fabric_of(rack, nodes_of(state, rack)), event.seq, event.occurred_at)


def _absent(state: ClusterState, event: Event, payload: ev.NodeAbsent) -> None:
    node = state.nodes.get(payload.node)
    if node is not None:
        node.marks[Flag.ABSENT, event.source] = Mark(on=True, rank=rank_of(event), since=event.occurred_at, reason="not in the inventory")
        refresh_condition(state, node)


def _removed(state: ClusterState, event: Event, payload: ev.NodeRemoved) -> None:
    node = state.nodes.get(payload.node)
    if node is None:
        return
    fence_node(state, node, event.occurred_at)
    state.watched.discard(payload.node)
    state.unasked.discard(payload.node)
    del state.nodes[payload.node]
    state.drop_space()


def _rack_removed(state: ClusterState, _: Event, payload: ev.RackRemoved) -> None:
    state.racks.pop(payload.rack, None)
    state.closed_racks.discard(payload.rack)
    state.drop_space()


def _clock(state: ClusterState, _: Event, payload: ev.ClockSet) -> None:
    state.clock = Clock(wall=payload.wall, cluster_time=payload.cluster_time, speed=payload.speed)


def _planned(state: ClusterState, event: Event, payload: ev.ArrivalsPlanned) -> None:
    state.plans.setdefault(payload.plan, []).append(event.seq)


def _policy(state: ClusterState, _: Event, payload: PolicyActivated) -> None:
    if payload.policy.offender_failures != state.policy.offender_failures:
        state.drop_space()  # other nodes are repeat offenders now
    if payload.policy.fair_share_half_life_h != state.policy.fair_share_half_life_h:
        state.usage.settle(state.moment, state.policy.fair_share_half_life_h)
    state.policy = payload.policy
    state.policy_version = payload.version
    if not state.policy.check_repaired:
        end_checks(state)
    space = state.built_space
    if space is not None:  # spares and slices are counted anew everywhere
        space.stamp = [space.at] * len(space.stamp)


HANDLERS: dict[type, Callable[[ClusterState, Event, Any], None]] = {
    ev.ClusterCreated: _created,
    ev.RackRegistered: _rack,
    ev.NodeRegistered: _node_registered,
    ev.NodeChanged: _node_changed,
    ev.NodeAbsent: _absent,
    ev.NodeRemoved: _removed,
    ev.RackRemoved: _rack_removed,
    ev.ClockSet: _clock,
    ev.ArrivalsPlanned: _planned,
    PolicyActivated: _policy,
}

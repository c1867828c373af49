"""The difference between what a cluster has and what an inventory says, as events; the same inventory again is no difference.

An import speaks for itself only: it sets and clears its own flags. A release or undrain ends a quarantine or drain whoever imposed it, so
an import that no longer sees one says so only where nobody else holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusters.domain import health_events as health
from clusters.domain import inventory_events as ev
from clusters.domain.events import Payload
from clusters.domain.health import IMPORT_SOURCE, Flag
from clusters.domain.state import ClusterState, Node
from clusters.domain.topology import natural_key
from clusters.inventory.model import Held, Inventory, InventoryNode, InventoryRack, Known, KnownNode, Problem, note

#: Flags that NodeRecovered takes back, all at once.
_RECOVERS = (Flag.FAILED, Flag.UNREACHABLE, Flag.SUSPECT, Flag.DEGRADED)
_EXIT_RULE = "an import that no longer says so, or a release"
_NO_LONGER = "the inventory no longer says so"


def known_from(state: ClusterState) -> Known:
    """What an import can tell apart of a cluster's state."""
    nodes = {}
    for name, node in state.nodes.items():
        raised = [(flag, source, mark.reason) for (flag, source), mark in node.marks.items() if mark.on]
        nodes[name] = KnownNode(
            rack=node.rack,
            domain=node.told_domain,
            gpus=node.told_gpus,
            product=node.product,
            problem=node.problem,
            evidence=node.evidence,
            absent=any(flag is Flag.ABSENT for flag, _, _ in raised),
            flags={flag: reason for flag, source, reason in raised if source == IMPORT_SOURCE and flag is not Flag.ABSENT},
            others=frozenset(flag for flag, source, _ in raised if source != IMPORT_SOURCE),
            held=_held(node),
        )
    racks = {
        name: InventoryRack(name=name, block=rack.block, switch_trays=rack.switch_trays, fabric_gbps=rack.fabric_gbps)
        for name, rack in state.racks.items()
    }
    return Known(nodes=nodes, racks=racks)


def _held(node: Node) -> Held | None:
    jobs = tuple(filter(None, (node.job, *sorted(node.shares))))
    return Held(jobs=jobs, domain=node.domain, gpus=node.gpus) if jobs else None


def kept_places(known: Known, inventory: Inventory) -> Iterator[Problem]:
    """Nodes that the inventory has elsewhere than their work keeps them."""
    for node in inventory.nodes:
        before = known.nodes.get(node.name)
        held = before.held if before else None
        if held is not None and (held.domain, held.gpus) != (node.domain, node.gpus):
            place = f"domain {held.domain} with {held.gpus} GPUs"
            yield note(node.position, node.name, f"{', '.join(held.jobs)} runs on it, so it stays in {place} until that work has left")


def delta(known: Known, inventory: Inventory) -> list[Payload]:
    """The facts that lead from what is known to what the inventory says."""
    events: list[Payload] = [
        ev.RackRegistered(rack=rack.name, block=rack.block, switch_trays=rack.switch_trays, fabric_gbps=rack.fabric_gbps)
        for rack in inventory.racks
        if known.racks.get(rack.name) != rack
    ]
    for node in inventory.nodes:
        before = known.nodes.get(node.name)
        events.extend(_description(node, before))
        events.extend(_flags(node, before))
    present = {node.name for node in inventory.nodes}
    missing = [name for name, node in known.nodes.items() if name not in present and not node.absent]
    events.extend(ev.NodeAbsent(node=name) for name in sorted(missing, key=natural_key))
    return events


def _description(node: InventoryNode, before: KnownNode | None) -> Iterator[Payload]:
    found = before is None or before.absent
    if found or _described(node) != _described(before):
        kind = ev.NodeRegistered if found else ev.NodeChanged
        yield kind(
            node=node.name,
            rack=node.rack,
            domain=node.domain,
            gpus=node.gpus,
            product=node.product,
            problem=node.problem,
            evidence=node.evidence,
        )


def _described(node: InventoryNode | KnownNode | None) -> tuple[object, ...]:
    return (node.rack, node.domain, node.gpus, node.product, node.problem, node.evidence) if node else ()


def _flags(node: InventoryNode, before: KnownNode | None) -> Iterator[Payload]:
    wanted = dict(node.flags)
    had: Mapping[Flag, str] = before.flags if before else {}
    held = before.others if before else frozenset[Flag]()
    if any(flag in had and flag not in wanted for flag in _RECOVERS):
        yield health.NodeRecovered(node=node.name, reason=_NO_LONGER)
        had = {flag: reason for flag, reason in had.items() if flag not in _RECOVERS}
    if Flag.QUARANTINED in had and not {*wanted, *held} & {Flag.QUARANTINED}:
        yield health.NodeReleased(node=node.name, reason=_NO_LONGER)
    if Flag.DRAINING in had and not {*wanted, *held} & {Flag.DRAINING}:
        yield health.NodeUndrained(node=node.name, reason=_NO_LONGER)
    for flag, reason in node.flags:
        if had.get(flag) != reason:
            yield _raised(node, flag, reason)


def _raised(node: InventoryNode, flag: Flag, reason: str) -> Payload:
    if flag is Flag.QUARANTINED:
        return health.NodeQuarantined(node=node.name, owner=IMPORT_SOURCE, reason=reason, exit_rule=_EXIT_RULE, evidence=node.evidence)
    if flag is Flag.SUSPECT:
        return health.NodeSuspected(node=node.name, reason=reason, evidence=node.evidence)
    if flag is Flag.FAILED:
        return health.NodeFailed(node=node.name, reason=reason, evidence=node.evidence)
    if flag is Flag.UNREACHABLE:
        return health.NodeUnreachable(node=node.name, reason=reason)
    if flag is Flag.DRAINING:
        return health.NodeDraining(node=node.name, reason=reason)
    return health.NodeDegraded(node=node.name, reason=reason)

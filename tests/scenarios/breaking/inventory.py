"""What the inventory may come to say, while work runs."""

from __future__ import annotations

from random import Random

from clusters.domain.commands import RemoveRack
from clusters.domain.decision import Refusal
from clusters.domain.inventory_events import NodeAbsent, NodeChanged, NodeRegistered, NodeRemoved, RackRegistered
from clusters.domain.state import Node
from tests.scenarios.breaking.ground import Ground

IMPORT = "import"


def leave(ground: Ground, chance: Random, gone: list[NodeRegistered]) -> None:
    """A node goes, for good or for now, or one that went comes back."""
    known = ground.state.nodes
    node, which = chance.choice(list(known.values())), chance.random()
    gone[:] = [former for former in gone if former.node not in known]
    if which < 0.3 and len(known) > 4:
        gone.append(_as_it_is(node))
        ground.tell(NodeRemoved(node=node.name, reason="sold"), source="user:op")
    elif which < 0.6:
        ground.tell(NodeAbsent(node=node.name), source=IMPORT)
    elif which < 0.7:
        _remove_rack(ground, node.rack, gone)
    else:
        back = gone.pop() if gone else _as_it_is(node)
        if back.rack not in ground.state.racks:
            ground.tell(RackRegistered(rack=back.rack, block="b1", switch_trays=9), source=IMPORT)
        ground.tell(back, source=IMPORT)


def _remove_rack(ground: Ground, rack: str, gone: list[NodeRegistered]) -> None:
    """Refused where work has nodes of it."""
    there = [_as_it_is(node) for node in ground.state.nodes.values() if node.rack == rack]
    if len(ground.state.racks) > 2 and not isinstance(ground.do(RemoveRack(rack=rack, by="op"), "user:op"), Refusal):
        gone += there


def change(ground: Ground, chance: Random) -> None:
    """A node or a rack is said to be otherwise than before."""
    nodes = list(ground.state.nodes.values())
    node, other = chance.choice(nodes), chance.choice(nodes)
    if chance.random() < 0.3:
        ground.tell(RackRegistered(rack=node.rack, block=chance.choice(("b1", "b2")), switch_trays=9), source=IMPORT)
        return
    domain = chance.choice((other.domain, node.domain, None))
    gpus, problem = chance.choice((node.gpus, node.gpus, 8)), chance.choice(("", "", "no clique"))
    ground.tell(NodeChanged(node=node.name, rack=other.rack, domain=domain, gpus=gpus, problem=problem), source=IMPORT)


def _as_it_is(node: Node) -> NodeRegistered:
    return NodeRegistered(node=node.name, rack=node.rack, domain=node.domain, gpus=node.gpus)

"""From the nodes as they were read to those that count: each once, with the GPUs it is known to have; what is left out is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from clusters.inventory.model import Known, Problem, fatal, note
from clusters.inventory.names import MAX_NODES
from clusters.inventory.node_facts import NodeFacts, in_order, suspected

#: Names told of those left out.
_SHOWN = 5


def given_once(read: Iterable[NodeFacts | None], problems: list[Problem]) -> tuple[tuple[NodeFacts, ...], tuple[Problem, ...]]:
    """Each node once, and notes on those given again with the same content; one given with other content is a fatal problem."""
    nodes: dict[str, NodeFacts] = {}
    repeated: list[str] = []
    for node in read:
        if node is None:
            continue
        first = nodes.setdefault(node.name, node)
        if first == node:
            repeated.extend([node.name] if first is not node else [])
        else:
            message = f"this node is given with other content at {first.position}; give each node once"
            problems.append(fatal(node.position, node.name, message))
    if len(nodes) > MAX_NODES:
        problems.append(fatal("", "", f"the file has {len(nodes):,} nodes; give at most {MAX_NODES:,}"))
    told = f"{counted(repeated)} given again with the same content taken once: {shortened(sorted(repeated))}"
    return tuple(nodes.values()), ((note("", "", told),) if repeated else ())


def with_known_gpus(node: NodeFacts, known: Known) -> NodeFacts:
    """A node that is known to have GPUs and shows none has lost sight of them: it stays, and takes no work."""
    before = known.nodes.get(node.name)
    if node.gpus or before is None:
        return node
    flags = in_order(suspected(dict(node.flags), f"reports none of its {before.gpus} GPUs"))
    return replace(node, gpus=before.gpus, product=node.product or before.product, flags=flags)


def left_out(what: str, names: Iterable[str]) -> tuple[Problem, ...]:
    """A note on nodes that are not taken, if there are any."""
    listed = sorted(names)
    return (note("", "", f"{counted(listed)} {what} left out: {shortened(listed)}"),) if listed else ()


def counted(names: list[str]) -> str:
    """How many nodes these are."""
    return f"{len(names):,} node{'' if len(names) == 1 else 's'}"


def shortened(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")

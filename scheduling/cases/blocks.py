"""Joined blocks: Slurm's block topology lets a job span several blocks beside each other as one larger, aligned block.

The smallest entry of `block_sizes` is one block of the tree; a larger one joins as many as make it up, in natural order. A job, or each
slice of one, takes the smallest size that holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clusters.domain.constraints import LevelMode
from clusters.domain.topology import natural_key
from scheduling.cases.nodes import Node
from scheduling.domain.trees import Ask

#: The level of a request that speaks of joined blocks, which is also the level they get in the tree.
JOINED = "aggregate-block"


def join_blocks(levels: Sequence[str], nodes: Sequence[Node], sizes: Sequence[int], span: int) -> tuple[tuple[str, ...], list[Node]]:
    """Put a level of joined blocks that hold `span` nodes around the outermost level; leave it out where no size does."""
    fitting = [size for size in sizes if size >= span]
    if not fitting or not levels:
        return tuple(levels), list(nodes)
    blocks = min(fitting) // min(sizes)
    names = sorted({node.path[0] for node in nodes}, key=natural_key)
    joined = {name: str(number // blocks) for number, name in enumerate(names)}
    return (JOINED, *levels), [replace(node, path=(joined[node.path[0]], *node.path)) for node in nodes]


def ask_in_blocks(levels: Sequence[str], ask: Ask) -> Ask:
    """A request of joined blocks: its slices lie in one each, or else the whole job; a job that no size holds is not bound."""
    if ask.layers:
        outermost, *inner = ask.layers
        return replace(ask, mode=LevelMode.ANY, layers=(replace(outermost, level=JOINED), *inner))
    return ask if JOINED in levels else replace(ask, mode=LevelMode.ANY)

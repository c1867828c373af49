"""Reading one case: the tree of its nodes, and what is asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clusters.domain.constraints import Layer, LevelMode
from scheduling.cases.blocks import JOINED, ask_in_blocks, join_blocks
from scheduling.cases.fields import Fields
from scheduling.cases.nodes import Node, free_gpus, free_workers, read_nodes, with_own_level
from scheduling.domain.trees import Ask, Tree, build_tree

#: How the modes of case files are called here.
MODES = {
    "required": LevelMode.REQUIRED,
    "preferred": LevelMode.PREFERRED,
    "any": LevelMode.ANY,
    "unconstrained": LevelMode.ANY,
    "slice_only": LevelMode.ANY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A case as the engine sees it."""

    tree: Tree
    ask: Ask
    low: int  # fewest workers that will do
    names: tuple[str, ...]  # node by leaf
    kept: Mapping[int, int]  # workers that stay, by leaf
    excluded: Mapping[str, int]  # reason -> nodes that have no room for it
    nodes: int  # that may take workers at all


def read_place(case: Fields) -> Question:
    """A request that is placed anew."""
    return _question(case, read_nodes(case, free_workers), {}, _count(case))


def read_consolidate(case: Fields) -> Question | None:
    """A job that waits beside running ones, as they are; None where it does not count in GPUs."""
    room = free_gpus(case)
    return None if room is None else _question(case, read_nodes(case, room), {}, _count(case))


def read_replace(case: Fields) -> Question:
    """A swap: all workers of the request but the lost ones stay, and none comes back to the failed host."""
    request = case.part("request")
    failed = request.text("failed_host") if request.has("failed_host") else request.text("failed_node")
    nodes = read_nodes(case, free_workers)
    kept = Counter[str]()
    for part in request.parts("previous_assignment", needed=True):
        if failed not in (part.label("node"), _host(part)):
            kept[_survivor(part, nodes)] += part.whole("count", low=1)
    left = [replace(node, usable=False, room=0, excluded="failed") if node.is_called(failed) else node for node in nodes]
    return _question(case, left, kept, kept.total() + request.whole("lost", low=1))


def _count(case: Fields) -> int:
    return case.part("request").whole("count", low=1)


def _host(part: Fields) -> str:
    """The host label in a part of an assignment: said, or the end of its path."""
    path = part.texts("domain")
    return path[-1] if path and not part.has("host") else part.text("host", "")


def _survivor(part: Fields, nodes: Sequence[Node]) -> str:
    """The node that holds a part of an assignment, by its name or its host label."""
    name = part.text("node", _host(part))
    found = next((node.name for node in nodes if node.is_called(name)), None)
    if found is None:
        raise part.wrong("node" if part.has("node") else "host", "name a node of the case")
    return found


def _question(case: Fields, nodes: Sequence[Node], kept: Mapping[str, int], count: int) -> Question:
    request = case.part("request")
    levels = case.texts("levels")
    excluded = Counter(node.excluded for node in nodes if node.excluded)
    nodes = [node for node in nodes if node.usable or node.name in kept]
    ask = _ask(request, levels, count)
    if ask.level == JOINED and JOINED not in levels:
        levels, nodes = join_blocks(levels, nodes, case.wholes("block_sizes"), ask.layers[0].size if ask.layers else count)
        ask = ask_in_blocks(levels, ask)
    levels, nodes = with_own_level(levels, nodes)
    placed = {node.path: node for node in nodes}
    tree = build_tree(levels, {path: node.room for path, node in placed.items()})
    names = tuple(placed[path].name for path in tree.leaves)
    return Question(
        tree=tree,
        ask=ask,
        low=min(count, request.whole("min_count", count, low=1)),
        names=names,
        kept={leaf: kept[name] for leaf, name in enumerate(names) if name in kept},
        excluded=excluded,
        nodes=sum(node.usable for node in nodes),
    )


def _ask(request: Fields, levels: Sequence[str], count: int) -> Ask:
    mode = request.text("mode", "required" if request.has("level") else "any")
    if mode not in MODES:
        raise request.wrong("mode", f"give one of {sorted(MODES)}")
    level = request.text("level", "")
    return Ask(
        count=count,
        mode=MODES[mode] if level else LevelMode.ANY,
        level=level,
        layers=_layers(request, levels),
        tail=request.flag("tail", default=False),
    )


def _layers(request: Fields, levels: Sequence[str]) -> tuple[Layer, ...]:
    """Layers as they are listed, or the one that `slice_size` speaks of; those without a size do not bind."""
    listed = [(part, "level", "size") for part in request.parts("slice_layers")]
    given = listed or [(request, "slice_level", "slice_size")]
    level = request.text("level", "")
    usual = level if level in levels else next(iter(levels), "")
    return tuple(Layer(level=part.text(name, usual), size=part.whole(size, low=1)) for part, name, size in given if part.has(size))

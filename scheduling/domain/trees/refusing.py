"""Why a request has no place in a tree, with counts."""

from __future__ import annotations

from itertools import pairwise

from clusters.domain.constraints import LevelMode
from scheduling.domain.trees.counting import count
from scheduling.domain.trees.model import WHOLE, Ask, LayerFit, Spot, Tree, TreeCode, TreeRefusal, held_together, layer_sizes


def misread(tree: Tree, ask: Ask) -> TreeRefusal | None:
    """Refuse what could not be placed in any tree of these levels, or makes no sense; None where it does."""
    unit = ask.layers[0].size if ask.layers else 1
    if ask.mode is not LevelMode.ANY and ask.level not in tree.levels:
        return TreeRefusal(code=TreeCode.UNKNOWN_LEVEL, level=ask.level)
    unknown = [layer.level for layer in ask.layers if layer.level not in tree.levels]
    if unknown:
        return TreeRefusal(code=TreeCode.UNKNOWN_LAYER, level=unknown[0])
    if not _nested(tree, ask):
        return TreeRefusal(code=TreeCode.NOT_NESTED, level=ask.layers[0].level)
    if ask.count % unit and not ask.tail:
        return TreeRefusal(code=TreeCode.NOT_WHOLE, level=ask.layers[0].level, unit=unit, fit=ask.count // unit, of=-(-ask.count // unit))
    if not tree.leaves:
        return TreeRefusal(code=TreeCode.NO_GROUPS, level=ask.level, unit=unit, of=-(-ask.count // unit))
    return None


def _nested(tree: Tree, ask: Ask) -> bool:
    """Do layers go from the outside in, each a multiple of the next?"""
    places = [tree.levels.index(layer.level) for layer in ask.layers]
    return all(outer < inner for outer, inner in pairwise(places)) and not any(
        outer.size % inner.size for outer, inner in pairwise(ask.layers)
    )


def misfit(tree: Tree, ask: Ask, spot: Spot = WHOLE) -> TreeRefusal:
    """Say what the best group, at or below `spot`, holds of a request that fits nowhere there."""
    depth = max(spot[0], held_together(tree, ask))
    holding = count(tree, layer_sizes(tree, ask))
    held = holding.whole[depth]
    best = max(tree.inside(*spot, depth), key=lambda group: (held[group], holding.raw[depth][group], -group))
    unit = ask.layers[0].size if ask.layers else 1
    return TreeRefusal(
        code=TreeCode.INSUFFICIENT,
        level=tree.levels[depth - 1] if depth else "",
        unit=unit,
        fit=held[best] // unit,
        of=-(-ask.count // unit),
        best=tree.path(depth, best),
        free=holding.raw[0][0],
        layers=_layer_fits(tree, ask, depth, best) if len(ask.layers) > 1 else (),
    )


def _layer_fits(tree: Tree, ask: Ask, depth: int, group: int) -> tuple[LayerFit, ...]:
    """Whole slices of each layer in one group, the layers around it aside."""
    fits = []
    for place, layer in enumerate(ask.layers):
        inner = Ask(count=ask.count, layers=ask.layers[place:])
        held = count(tree, layer_sizes(tree, inner)).whole[depth][group]
        fits.append(LayerFit(level=layer.level, fit=held // layer.size, of=-(-ask.count // layer.size)))
    return tuple(fits)

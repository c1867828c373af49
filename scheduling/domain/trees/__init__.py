"""Placement over any tree of levels: what is asked of it, where it goes, and why it does not fit.

    tree = build_tree(("block", "rack", "host"), {("b1", "r1", "n1"): 4, ...})
    place_tree(tree, Ask(count=32, mode=LevelMode.REQUIRED, level="block", layers=(Layer(level="rack", size=16),)))

`replace_tree` finds places for lost workers beside those that stay.

It places if and only if it is possible, in as few groups as it finds, level by level, outermost first. Any order of the input gives
the same answer. Nothing here knows nodes, jobs or the state of a cluster: leaves are paths with a number of workers that fit on them.
"""

from __future__ import annotations

from scheduling.domain.trees.model import Allocation, Ask, LayerFit, Tree, TreeCode, TreeRefusal, build_tree
from scheduling.domain.trees.placing import place_tree
from scheduling.domain.trees.replacing import replace_tree

__all__ = ["Allocation", "Ask", "LayerFit", "Tree", "TreeCode", "TreeRefusal", "build_tree", "place_tree", "replace_tree"]

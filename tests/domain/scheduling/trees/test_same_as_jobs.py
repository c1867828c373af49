"""Jobs of a cluster and requests in a tree are two engines for the same question: what one places, the other places.

Jobs are placed over the dense state of a cluster, with spares, incidents and much besides; the tree knows only room. Where a job asks for
no more than levels and layers, both must agree on whether it fits, and on the fewest blocks.
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusters.domain.constraints import Layer, LevelMode
from clusters.domain.decision import Refusal
from clusters.domain.policy import Policy
from scheduling.domain.placement import place
from scheduling.domain.trees import Allocation, Ask, build_tree, place_tree
from scheduling.domain.trees.model import Path
from tests.domain.scheduling.worlds import space_of
from tests.support.world import ask

SIZE = 9  # nodes of a domain
POLICY = Policy(slice_size=SIZE, target_spares=0, min_spares=0)

floors = st.lists(st.tuples(st.sampled_from(["b1", "b2", "b3"]), st.integers(0, SIZE)), min_size=1, max_size=7)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Whole slices, in runs that lie in one rack or one block, at a level or not."""
    size = draw(st.integers(2, 4))
    layers: list[Layer] = []
    run = size
    for level in ("rack", "block"):
        if draw(st.booleans()):
            run *= draw(st.integers(1, SIZE // run if level == "rack" else 3))
            layers.insert(0, Layer(level=level, size=run))
    mode = draw(st.sampled_from(LevelMode))
    return {
        "nodes": run * draw(st.integers(1, 4)),
        "slice_size": size,
        "max_slice": size,
        "layers": tuple(layers),
        "mode": mode,
        "level": "" if mode is LevelMode.ANY else draw(st.sampled_from(["block", "rack"])),
    }


RACKS_OF_FOUR = {"nodes": 16, "slice_size": 2, "max_slice": 2, "layers": (Layer(level="rack", size=4),), "mode": LevelMode.ANY, "level": ""}


@settings(max_examples=300)
@example(floor=[("b1", 4), ("b1", 4), ("b2", 4), ("b3", 4), ("b3", 4)], request=RACKS_OF_FOUR)
@given(floor=floors, request=requests())
def test_both_engines_place_the_same_and_in_as_few_blocks(floor: list[tuple[str, int]], request: dict[str, Any]) -> None:
    blocks = {f"r{number}": block for number, (block, _) in enumerate(floor)}
    free = {f"r{number}": nodes for number, (_, nodes) in enumerate(floor)}
    placed = place(space_of(free, size=SIZE, blocks=blocks), ask(**request, spares=0), POLICY)

    room: dict[Path, int] = {(blocks[rack], rack, "domain"): nodes for rack, nodes in free.items()}
    tree = build_tree(("block", "rack", "domain"), room)
    slices = Layer(level="domain", size=request["slice_size"])
    asked = Ask(count=request["nodes"], mode=request["mode"], level=request["level"], layers=(*request["layers"], slices))
    found = place_tree(tree, asked)

    if isinstance(placed, Refusal):
        assert not isinstance(found, Allocation)
    else:
        assert isinstance(found, Allocation)
        used = {blocks[part.domain] for part in placed}
        assert len(used) == len({tree.leaves[leaf][0] for leaf, _ in found.counts})

"""Small trees and requests of them, drawn at random."""

from __future__ import annotations

from hypothesis import strategies as st

from clusters.domain.constraints import Layer, LevelMode
from scheduling.domain.trees import Ask
from tests.domain.scheduling.trees.judge import Path

LEVELS = ("block", "rack", "host")


@st.composite
def rooms(draw: st.DrawFn) -> dict[Path, int]:
    """Up to 3 blocks of up to 3 racks, 7 hosts in all, with room for 0 to 3 workers each."""
    paths = draw(st.lists(st.tuples(st.sampled_from(["b1", "b2", "b10"]), st.sampled_from(["r1", "r2", "r10"])), min_size=1, max_size=7))
    return {(block, rack, f"h{number}"): draw(st.integers(0, 3)) for number, (block, rack) in enumerate(paths)}


@st.composite
def asks(draw: st.DrawFn, *, tails: bool = False) -> Ask:
    """Requests with up to two layers that divide each other."""
    places = sorted(draw(st.sets(st.integers(0, 2), max_size=2)))
    layers: list[Layer] = []
    size = 1
    for place in reversed(places):
        size *= draw(st.integers(1, 3))
        layers.insert(0, Layer(level=LEVELS[place], size=size))
    count = draw(st.integers(1, 12))
    if not tails:
        count = -(-count // size) * size
    return Ask(
        count=count,
        mode=draw(st.sampled_from(LevelMode)),
        level=draw(st.sampled_from(LEVELS)),
        layers=tuple(layers),
        tail=tails,
    )

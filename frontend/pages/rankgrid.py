"""The ranks of one slice as a drawing: its nodes in slot order, the GPUs of each in the colour of their TP x EP group.

A group that fills whole nodes has a box around them; one that lies inside a node is told by colour and by the title. Colours come from the
classes of the palette, so the same text is right on light and dark ground. A slot without a node is drawn as a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from frontend.pages.palette import JOB_HUES
from scheduling.domain.parallelism.ranks import Coordinates, Rank

GPU = 9  # side of a GPU, pixels
GAP = 1  # between GPUs
PAD = 3  # between the GPUs of a node and its edge
BETWEEN = 4  # nodes
EDGE = 3  # room for the box of a group
COLUMNS = 2  # of GPUs in a node


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One slot."""

    node: str | None  #: name, or none where the slot has no node
    slot: int
    ranks: tuple[Rank, ...]
    group: int | None  #: the group that all of its ranks belong to, where there is one


class RankGrid:
    """Draws one slice as SVG."""

    def __init__(self, ranks: Sequence[Rank], group: int | None) -> None:
        """`group` is the number of ranks in a TP x EP group; none without a plan."""
        self.size = group
        self.tiles = [self._tile(slot, tuple(members)) for slot, members in groupby(ranks, key=lambda rank: rank.slot)]
        rows = max((-(-len(tile.ranks) // COLUMNS) for tile in self.tiles), default=1)
        self.side = COLUMNS * (GPU + GAP) - GAP + 2 * PAD
        self.tall = rows * (GPU + GAP) - GAP + 2 * PAD
        self.width = 2 * EDGE + len(self.tiles) * (self.side + BETWEEN) - BETWEEN
        self.height = 2 * EDGE + self.tall

    def render(self) -> str:
        """The whole drawing as one `svg` element."""
        view = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        body = "".join((*self.draw_groups(), *map(self.draw_tile, self.tiles)))
        return f'<svg xmlns="http://www.w3.org/2000/svg" class="rank-grid" role="group" {view}>{body}</svg>'

    def draw_groups(self) -> Iterator[str]:
        """A box around the nodes of each group that fills whole ones."""
        for group, members in groupby(self.tiles, key=lambda tile: tile.group):
            tiles = list(members)
            if group is not None:
                left = self._left(tiles[0].slot) - EDGE
                right = self._left(tiles[-1].slot) + self.side + EDGE
                yield (
                    f'<rect class="rank-group hue-{group % len(JOB_HUES)}" x="{left + 0.5}" y="0.5" width="{right - left - 1}" '
                    f'height="{self.height - 1}" rx="4"/>'
                )

    def draw_tile(self, tile: Tile) -> str:
        """One node with its GPUs."""
        x = self._left(tile.slot)
        lost = " is-lost" if tile.node is None else ""
        gpus = "".join(self.draw_gpu(rank, place, x) for place, rank in enumerate(tile.ranks)) if tile.node else ""
        return (
            f'<g class="rank-node{lost}" role="img"><title>{escape(told(tile))}</title>'
            f'<rect class="rank-tray" x="{x}" y="{EDGE}" width="{self.side}" height="{self.tall}" rx="2"/>{gpus}</g>'
        )

    def draw_gpu(self, rank: Rank, place: int, x: int) -> str:
        """One GPU, in the colour of its group."""
        group = self._group(rank)
        look = "use-allocated" if group is None else f"hue-{group % len(JOB_HUES)}"
        row, column = divmod(place, COLUMNS)
        left, top = x + PAD + column * (GPU + GAP), EDGE + PAD + row * (GPU + GAP)
        return f'<rect class="rank-gpu {look}" x="{left}" y="{top}" width="{GPU}" height="{GPU}" rx="1"/>'

    def _tile(self, slot: int, ranks: tuple[Rank, ...]) -> Tile:
        groups = {self._group(rank) for rank in ranks}
        return Tile(node=ranks[0].node, slot=slot, ranks=ranks, group=groups.pop() if len(groups) == 1 else None)

    def _group(self, rank: Rank) -> int | None:
        return None if self.size is None else rank.rank // self.size

    def _left(self, slot: int) -> int:
        return EDGE + slot * (self.side + BETWEEN)


def told(tile: Tile) -> str:
    """A node in words: `r1-n03, slot 2, ranks 8–11, tp 0–3, ep 2, pp 0, dp 1`."""
    parts = [tile.node or "no node", f"slot {tile.slot}", f"rank{span([rank.rank for rank in tile.ranks], 's')}"]
    places = [rank.at for rank in tile.ranks if rank.at is not None]
    return ", ".join([*parts, *coordinates_told(places)])


def coordinates_told(places: Sequence[Coordinates]) -> Iterator[str]:
    """The coordinates of some ranks, each as the range that they take."""
    for name in ("tp", "ep", "pp", "dp") if places else ():
        yield f"{name}{span([getattr(at, name) for at in places])}"


def span(numbers: Sequence[int], plural: str = "") -> str:
    """From the least to the largest number; `plural` where they differ."""
    low, high = min(numbers), max(numbers)
    return f" {low}" if low == high else f"{plural} {low}–{high}"

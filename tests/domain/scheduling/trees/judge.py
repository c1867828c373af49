"""An independent judge of small trees: it tries every layout. It knows paths and numbers of workers, nothing of how they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from clusters.domain.constraints import LevelMode
from scheduling.domain.trees import Ask

Path = tuple[str, ...]
Layout = dict[Path, int]


def layouts(room: Mapping[Path, int], count: int) -> Iterator[Layout]:
    """Every way to put `count` workers on the leaves."""
    leaves = sorted(room)

    def go(place: int, left: int) -> Iterator[Layout]:
        if place == len(leaves):
            if not left:
                yield {}
            return
        for workers in range(min(room[leaves[place]], left) + 1):
            for rest in go(place + 1, left - workers):
                yield {leaves[place]: workers} | rest if workers else rest

    return go(0, count)


def keeps(levels: Sequence[str], ask: Ask, layout: Mapping[Path, int]) -> bool:
    """Does a layout hold to what is asked?"""
    if sum(layout.values()) != ask.count:
        return False
    if ask.mode is LevelMode.REQUIRED and len(groups(layout, levels.index(ask.level) + 1)) > 1:
        return False
    around: Path = ()  # the group that the smaller last slice lies in, from the outside in
    for layer in ask.layers:
        held = groups(layout, levels.index(layer.level) + 1)
        odd = [(group, workers % layer.size) for group, workers in held.items() if workers % layer.size]
        tail = ask.count % layer.size if ask.tail else 0
        if [rest for _, rest in odd] != ([tail] if tail else []):
            return False
        if odd:
            if odd[0][0][: len(around)] != around:
                return False
            around = odd[0][0]
    return True


def groups(layout: Mapping[Path, int], depth: int) -> Counter[Path]:
    """Workers by group of one depth."""
    held = Counter[Path]()
    for path, workers in layout.items():
        if workers:
            held[path[:depth]] += workers
    return held


def spread(layout: Mapping[Path, int], depth: int) -> list[int]:
    """Groups used at each level, outermost first."""
    return [len(groups(layout, level)) for level in range(1, depth + 1)]

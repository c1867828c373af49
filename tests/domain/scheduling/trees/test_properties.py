"""What holds for every tree and every request, against a judge that tries all layouts."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.domain.trees import Allocation, Ask, TreeRefusal, build_tree, place_tree, replace_tree
from scheduling.domain.trees.model import Tree
from tests.domain.scheduling.trees.judge import Layout, Path, keeps, layouts, spread
from tests.domain.scheduling.trees.worlds import LEVELS, asks, rooms


def named(tree: Tree, found: Allocation) -> Layout:
    return {tree.leaves[leaf]: workers for leaf, workers in found.counts}


def placed(room: dict[Path, int], ask: Ask) -> Layout | None:
    tree = build_tree(LEVELS, room)
    found = place_tree(tree, ask)
    return None if isinstance(found, TreeRefusal) else named(tree, found)


def fits(room: dict[Path, int], layout: Layout) -> bool:
    return all(0 < workers <= room[path] for path, workers in layout.items())


@settings(max_examples=300)
@given(room=rooms(), ask=st.one_of(asks(), asks(tails=True)))
def test_a_request_is_placed_exactly_when_some_layout_keeps_to_it(room: dict[Path, int], ask: Ask) -> None:
    found = placed(room, ask)
    if found is None:
        assert not any(keeps(LEVELS, ask, layout) for layout in layouts(room, ask.count))
    else:
        assert fits(room, found)
        assert keeps(LEVELS, ask, found)


@settings(max_examples=200)
@given(room=rooms(), ask=asks())
def test_no_layout_needs_fewer_groups_of_the_outermost_level(room: dict[Path, int], ask: Ask) -> None:
    found = placed(room, ask)
    if found is not None:
        best = min(spread(layout, 3) for layout in layouts(room, ask.count) if keeps(LEVELS, ask, layout))
        assert spread(found, 3)[0] == best[0]


@settings(max_examples=200)
@given(room=rooms(), ask=asks())
def test_where_one_block_holds_the_job_no_layout_needs_fewer_racks(room: dict[Path, int], ask: Ask) -> None:
    found = placed(room, ask)
    if found is not None and spread(found, 1) == [1]:
        best = min(spread(layout, 3) for layout in layouts(room, ask.count) if keeps(LEVELS, ask, layout))
        assert spread(found, 2) == best[:2]


@given(room=rooms(), ask=st.one_of(asks(), asks(tails=True)), data=st.data())
def test_the_order_of_the_input_does_not_matter(room: dict[Path, int], ask: Ask, data: Any) -> None:
    shuffled = dict(data.draw(st.permutations(list(room.items()))))
    assert placed(shuffled, ask) == placed(room, ask)


@given(room=rooms(), ask=st.one_of(asks(), asks(tails=True)), data=st.data())
def test_more_room_never_turns_placed_into_refused(room: dict[Path, int], ask: Ask, data: Any) -> None:
    if placed(room, ask) is not None:
        leaf = data.draw(st.sampled_from([*sorted(room), ("b1", "r1", "new"), ("b3", "r1", "new")]))
        assert placed(room | {leaf: room.get(leaf, 0) + data.draw(st.integers(1, 3))}, ask) is not None


@given(room=rooms(), ask=asks())
def test_a_refusal_counts_what_there_is(room: dict[Path, int], ask: Ask) -> None:
    found = place_tree(build_tree(LEVELS, room), ask)
    if isinstance(found, TreeRefusal):
        assert found.free == sum(room.values())
        assert found.fit < found.of
        assert found.of * found.unit == ask.count
        assert all(layer.of * size.size == ask.count for layer, size in zip(found.layers, ask.layers, strict=False))


@settings(max_examples=300)
@given(room=rooms(), ask=asks(), data=st.data())
def test_a_swap_is_found_exactly_when_there_is_one(room: dict[Path, int], ask: Ask, data: Any) -> None:
    before = placed(room, ask)
    if before is None:
        return
    gone = data.draw(st.sets(st.sampled_from(sorted(before)), min_size=1))
    kept = {path: workers for path, workers in before.items() if path not in gone}
    left = {path: 0 if path in gone else data.draw(st.integers(0, 3)) for path in room}
    tree = build_tree(LEVELS, left)
    found = replace_tree(tree, ask, {leaf: kept[path] for leaf, path in enumerate(tree.leaves) if path in kept})
    lost = ask.count - sum(kept.values())
    if isinstance(found, TreeRefusal):
        assert not any(keeps(LEVELS, ask, _sum(kept, layout)) for layout in layouts(left, lost))
    else:
        assert fits(left, named(tree, found))
        assert keeps(LEVELS, ask, _sum(kept, named(tree, found)))


def _sum(kept: Layout, added: Layout) -> Layout:
    return {path: kept.get(path, 0) + added.get(path, 0) for path in {**kept, **added}}

"""Trees: how leaves and groups are numbered."""

from __future__ import annotations

import pytest

from scheduling.domain.trees import build_tree
from scheduling.domain.trees.model import Path

ROOM: dict[Path, int] = {
    ("b2", "r1", "n1"): 4,
    ("b1", "r10", "n1"): 1,
    ("b1", "r2", "n1"): 2,
    ("b1", "r2", "n10"): 0,
    ("b1", "r2", "n9"): 3,
}


def test_leaves_come_in_natural_order_of_their_whole_paths() -> None:
    tree = build_tree(("block", "rack", "host"), ROOM)
    assert tree.leaves == (("b1", "r2", "n1"), ("b1", "r2", "n9"), ("b1", "r2", "n10"), ("b1", "r10", "n1"), ("b2", "r1", "n1"))
    assert tree.room == (2, 3, 0, 1, 4)
    assert build_tree(("block", "rack", "host"), dict(reversed(ROOM.items()))) == tree


def test_groups_are_ranges_of_the_next_level_and_know_what_is_around_them() -> None:
    tree = build_tree(("block", "rack", "host"), ROOM)
    assert tree.children == ((0, 2), (0, 2, 3), (0, 3, 4, 5))
    assert tree.parents == ((), (0, 0), (0, 0, 1), (0, 0, 0, 1, 2))
    assert [tree.path(2, rack) for rack in tree.inside(0, 0, 2)] == [("b1", "r2"), ("b1", "r10"), ("b2", "r1")]
    assert tree.inside(1, 0, 3) == range(4)
    assert tree.around(3, 3, 1) == 0
    assert tree.path(0, 0) == ()


def test_the_same_name_in_two_groups_is_two_groups() -> None:
    tree = build_tree(("block", "rack"), {("b1", "r1"): 1, ("b2", "r1"): 1})
    assert tree.leaves == (("b1", "r1"), ("b2", "r1"))


def test_another_room_keeps_the_tree() -> None:
    tree = build_tree(("block", "rack", "host"), ROOM)
    assert tree.with_room([1] * 5).room == (1,) * 5
    assert tree.without({0: 2, 4: 1}).room == (0, 3, 0, 1, 3)
    with pytest.raises(ValueError, match="one for each of 5 leaves"):
        tree.with_room([1])


@pytest.mark.parametrize(
    ("levels", "room", "message"),
    [
        ((), {}, "at least one"),
        (("rack", "rack"), {}, "each once"),
        (("rack", "host"), {("r1",): 1}, "one name for each"),
        (("host",), {("n1",): -1}, "from 0"),
    ],
)
def test_what_makes_no_tree_is_refused(levels: tuple[str, ...], room: dict[tuple[str, ...], int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_tree(levels, room)


def test_a_tree_without_leaves_is_one() -> None:
    tree = build_tree(("rack", "host"), {})
    assert tree.leaves == ()
    assert tree.path(0, 0) == ()

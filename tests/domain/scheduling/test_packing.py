"""Packing slices into domains: what fits is found, and nothing is counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from scheduling.domain.exact import fit_exactly
from scheduling.domain.packing import Bin, Packing
from scheduling.domain.search import search, search_areas
from tests.domain.scheduling.worlds import can_pack


def _bins(capacities: Sequence[int]) -> list[Bin]:
    return [Bin(domain, capacity, capacity, 0) for domain, capacity in enumerate(capacities)]


def _is_packing(parts: Mapping[int, Sequence[int]], capacities: Sequence[int], sizes: Sequence[int]) -> bool:
    placed = sorted((size for part in parts.values() for size in part), reverse=True)
    return placed == list(sizes) and all(sum(part) <= capacities[domain] for domain, part in parts.items())


@st.composite
def job_sizes(draw: st.DrawFn) -> list[int]:
    """Sizes as jobs have them: two that differ by a unit, and perhaps a tail below the unit."""
    unit = draw(st.integers(1, 4))
    small = draw(st.integers(1, 4)) * unit
    sizes = [small + unit] * draw(st.integers(0, 4)) + [small] * draw(st.integers(1, 4))
    tail = draw(st.integers(0, unit - 1))
    return [*sizes, tail] if tail else sizes


capacities = st.lists(st.integers(0, 20), max_size=5)


@given(capacities, job_sizes())
@example([10, 8], [5, 5, 4, 4])
@example([9, 9], [5, 5, 4, 4])
@example([12, 5], [6, 4, 4, 3])
def test_the_exact_search_packs_whatever_can_be_packed_and_nothing_else(capacities: list[int], sizes: list[int]) -> None:
    parts = fit_exactly(_bins(capacities), sizes)
    assert (parts is not None) == can_pack(capacities, sizes)
    assert parts is None or _is_packing(parts, capacities, sizes)


@given(capacities, st.lists(st.integers(1, 9), min_size=1, max_size=7))
@example([9, 9, 9], [5, 4, 4, 3, 3, 3, 2])
def test_the_search_packs_whatever_can_be_packed_and_nothing_else(capacities: list[int], sizes: list[int]) -> None:
    sizes.sort(reverse=True)
    parts = search(_bins(capacities), sizes)
    assert (parts is not None) == can_pack(capacities, sizes)
    assert parts is None or _is_packing({domain: sorted(part, reverse=True) for domain, part in parts.items()}, capacities, sizes)


@given(capacities, st.lists(st.tuples(st.integers(1, 9), st.integers(0, 31)), min_size=1, max_size=6))
def test_the_search_keeps_each_slice_to_its_area(capacities: list[int], slices: list[tuple[int, int]]) -> None:
    slices.sort(key=lambda item: -item[0])
    areas = {domain: tuple(area >> domain & 1 for _, area in slices) for domain in range(len(capacities))}
    homes = search_areas(_bins(capacities), slices, areas)
    ways = product(*([domain for domain in range(len(capacities)) if area >> domain & 1] for _, area in slices))
    assert (homes is not None) == any(_holds(capacities, slices, way) for way in ways)
    assert homes is None or _holds(capacities, slices, homes)
    assert homes is None or all(area >> domain & 1 for (_, area), domain in zip(slices, homes, strict=True))


def _holds(capacities: Sequence[int], slices: Sequence[tuple[int, int]], homes: Sequence[int]) -> bool:
    used = Counter[int]()
    for (size, _), domain in zip(slices, homes, strict=True):
        used[domain] += size
    return all(nodes <= capacities[domain] for domain, nodes in used.items())


def test_the_search_gives_up_rather_than_go_on_for_ever() -> None:
    slices = [(7, -1), (5, -1), (4, -1), (3, -1)]
    assert search_areas(_bins([10, 9]), slices, {}) == [0, 1, 1, 0]
    assert search_areas(_bins([10, 9]), slices, {}, work=3) is None
    assert search_areas(_bins([7] * 300), [(7, -1)] * 300, {}) is None


@given(capacities, job_sizes())
def test_pouring_places_each_slice_once_or_returns_it(capacities: list[int], sizes: list[int]) -> None:
    packing = Packing(_bins(capacities), lambda domain, nodes: (0, 0))
    rest = packing.pour(sizes)
    placed = sorted((size for part in packing.parts.values() for size in part), reverse=True)
    assert sorted([*placed, *rest], reverse=True) == sizes
    assert _is_packing(packing.parts, capacities, placed)


@given(capacities, st.integers(1, 8), st.integers(1, 6))
def test_pouring_slices_of_one_size_fails_only_where_they_cannot_fit(capacities: list[int], size: int, count: int) -> None:
    rest = Packing(_bins(capacities), lambda domain, nodes: (0, 0)).pour([size] * count)
    assert (not rest) == can_pack(capacities, [size] * count)


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(0, 3), st.integers(1, 3))
def test_pouring_into_domains_that_hold_one_slice_fails_only_where_they_cannot_fit(free: list[int], larger: int, smaller: int) -> None:
    sizes = [6] * larger + [5] * smaller
    rest = Packing(_bins(free), lambda domain, nodes: (0, 0)).pour(sizes)
    assert (not rest) == can_pack(free, sizes)

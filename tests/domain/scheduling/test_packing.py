"""Packing slices into domains: what fits is found, and nothing is counted twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from scheduling.domain.exact import fit_exactly
from scheduling.domain.packing import Bin, Packing
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

"""Every figure that is quoted from the closed form."""

from __future__ import annotations

import pytest

from scheduling.domain.capacity.model import Fleet, Outages, Sizes, available, domain_usable, expected, usable
from tests.domain.capacity.fleets import FLEET, RACK, TWO_PERCENT


@pytest.mark.parametrize(
    ("sizes", "nodes"),
    [
        ((8,), 2042.7),
        ((9,), 1952.8),
        ((16,), 2037.3),
        ((18,), 1601.6),
        ((17,), 2068.3),
        ((1,), 2257.9),
        ((18, 16), 2215.3),
        ((18, 17, 16), 2248.0),
        ((16, 2), 2224.6),
        ((9, 8), 2254.0),
        ((16, 9, 8), 2254.0),
        ((18, 16, 9, 8), 2254.0),
        ((16, 1), 2257.9),
    ],
)
def test_usable_nodes_of_128_racks_at_two_percent(sizes: Sizes, nodes: float) -> None:
    assert round(expected(FLEET, sizes, TWO_PERCENT), 1) == nodes
    assert round(usable(FLEET, sizes, TWO_PERCENT).mean, 1) == nodes


def test_the_headline_ratios() -> None:
    nodes = {sizes: expected(FLEET, sizes, TWO_PERCENT) for sizes in ((8,), (9,), (16,), (18,), (18, 16))}
    assert round(nodes[16,] / nodes[18,], 3) == 1.272
    assert round(nodes[16,] / nodes[9,] - 1, 2) == 0.04
    assert round(nodes[18, 16] / nodes[16,] - 1, 3) == 0.087
    assert round(nodes[18, 16] / nodes[18,] - 1, 2) == 0.38


@pytest.mark.parametrize(
    ("size", "sd", "p01", "slices_99", "slices_999"),
    [(8, 6.5, 2024, 253, 252), (9, 46.9, 1845, 205, 200), (16, 13.0, 2000, 125, 124), (18, 93.7, 1386, 77, 72)],
)
def test_spread_and_promises_of_128_racks_at_two_percent(size: int, sd: float, p01: int, slices_99: int, slices_999: int) -> None:
    found = usable(FLEET, (size,), TWO_PERCENT)
    assert round(found.total.sd, 1) == sd
    assert found.nodes_with(0.99) == p01
    assert (found.slices_with(0.99), found.slices_with(0.999)) == (slices_99, slices_999)
    assert found.total.error == 0


@pytest.mark.parametrize(("rho", "of_16", "of_18"), [(0, 2037, 1602), (0.05, 1985, 1776), (0.1, 1961, 1875), (0.2, 1948, 1992)])
def test_correlation_in_racks_narrows_the_gap(rho: float, of_16: int, of_18: int) -> None:
    model = Outages(unavailability=0.02, rho=rho)
    assert [round(expected(FLEET, (size,), model)) for size in (16, 18)] == [of_16, of_18]


@pytest.mark.parametrize(
    ("share", "of_16", "of_18", "of_9", "ratio"),
    [
        (0, 2037, 1602, 1953, 1.272),
        (0.25, 2033, 1744, 2018, 1.166),
        (0.5, 2026, 1900, 2090, 1.066),
        (0.75, 2017, 2071, 2170, 0.974),
        (1, 2007, 2258, 2258, 0.889),
    ],
)
def test_whole_rack_outages_turn_the_gap_round(share: float, of_16: int, of_18: int, of_9: int, ratio: float) -> None:
    model = Outages(unavailability=0.02, whole_rack_share=share)
    nodes = [expected(FLEET, (size,), model) for size in (16, 18, 9)]
    assert [round(found) for found in nodes] == [of_16, of_18, of_9]
    assert round(nodes[0] / nodes[1], 3) == ratio


def test_of_several_sizes_no_more_slices_are_promised_than_there_must_be() -> None:
    found = usable(FLEET, (18, 16), TWO_PERCENT)
    assert found.nodes_with(0.99) == 2166
    assert found.slices_with(0.99) == 121  # 120 slices of 18 are 2,160 nodes


def test_two_node_trays_that_fail_together() -> None:
    trays = Fleet.uniform(128, 9)
    assert round(2 * expected(trays, (8,), TWO_PERCENT)) == 2021
    assert round(2 * expected(trays, (9,), TWO_PERCENT)) == 1921


@pytest.mark.parametrize(("size", "mean", "sd", "p01"), [(16, 2033, 37, 1904), (18, 1746, 92, 1512)])
def test_a_power_row_of_eight_racks_leaves_the_mean_and_triples_the_spread(size: int, mean: int, sd: int, p01: int) -> None:
    row = domain_usable(18, (size,), Outages(unavailability=0.015)).times(8)
    shaken = {value: 0.995 * weight for value, weight in zip(row.values, row.weights, strict=True)}
    shaken[0] = shaken.get(0, 0.0) + 0.005
    fleet = type(row).of(shaken).times(16)
    assert round(fleet.mean) == mean
    assert round(fleet.moment(2) ** 0.5) == sd
    assert fleet.at_least(0.99) == p01


PERCENT_AWAY = (0, 0.5, 1, 2, 3, 5, 10)


@pytest.mark.parametrize(
    ("size", "percents"),
    [
        (1, "100.00 99.50 99.00 98.00 97.00 95.00 90.00"),
        (2, "100.00 99.04 98.15 96.55 95.13 92.64 87.27"),
        (4, "88.89 88.89 88.87 88.77 88.54 87.60 82.95"),
        (8, "88.89 88.88 88.86 88.66 88.19 86.31 77.06"),
        (9, "100.00 95.69 91.73 84.76 78.90 69.86 57.50"),
        (16, "88.89 88.88 88.82 88.43 87.49 83.72 65.23"),
        (17, "94.44 94.10 93.15 89.77 84.97 73.05 42.53"),
        (18, "100.00 91.37 83.45 69.51 57.80 39.72 15.01"),
    ],
)
def test_usable_share_of_a_rack_of_18(size: int, percents: str) -> None:
    found = [expected(RACK, (size,), Outages(unavailability=away / 100)) / 18 for away in PERCENT_AWAY]
    assert " ".join(f"{share * 100:.2f}" for share in found) == percents


@pytest.mark.parametrize(
    ("most", "percents"),
    [(2, "99.99 99.93 99.48 98.43 94.19 73.38"), (1, "99.64 98.62 95.05 89.97 77.35 45.03")],
    ids=["the rack can host a slice of 16", "a spare is left"],
)
def test_chance_that_at_most_so_many_nodes_of_a_rack_are_down(most: int, percents: str) -> None:
    found = [sum(available(18, Outages(unavailability=away / 100))[18 - most :]) for away in PERCENT_AWAY[1:]]
    assert " ".join(f"{share * 100:.2f}" for share in found) == percents


def test_16_loses_little_of_itself_up_to_three_percent() -> None:
    at = [expected(RACK, (16,), Outages(unavailability=p)) / 18 for p in (0, 0.03)]
    assert round((at[0] - at[1]) * 100, 1) == 1.4

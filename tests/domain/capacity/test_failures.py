"""Days between interruptions, repairs, money."""

from __future__ import annotations

import json
from math import exp

import pytest

from clusters.domain.errors import InvalidRequest
from scheduling.domain.capacity.failures import interruptions, repair_days_of, unavailability_of
from scheduling.domain.capacity.model import Outages, expected
from scheduling.domain.capacity.money import MEASURED_GAIN, gain_worth, prices_for, time_saved
from tests.domain.capacity.fleets import FLEET
from tests.support.shared import shared_path


def test_490_days_a_node_are_27_a_rack_and_five_hours_for_128_racks() -> None:
    found = interruptions(node_days=490, nodes_per_rack=18, nodes=128 * 18)
    assert round(found.rack_days, 1) == 27.2
    assert round(found.fleet_hours, 1) == 5.1
    assert round(found.fleet_per_day, 1) == 4.7


def test_two_percent_with_490_days_is_a_repair_of_ten_days() -> None:
    assert repair_days_of(node_days=490, unavailability=0.02) == pytest.approx(10)
    assert unavailability_of(node_days=490, repair_days=10) == pytest.approx(0.02)


def test_at_the_published_repair_times_whole_racks_win() -> None:
    facts = json.loads(shared_path("data", "failures", "replay_parameters.json").read_text())
    minutes = sum(part["p"] * part["median_min"] * exp(part["sigma"] ** 2 / 2) for part in facts["repair_time_mixture"])
    assert round(minutes / 60) == 21
    node_days = 1 / facts["hard_failure_rate_per_tray_day"]["default"]
    away = unavailability_of(node_days=node_days, repair_days=minutes / 60 / 24)
    assert round(away, 3) == 0.002
    assert [round(expected(FLEET, (size,), Outages(unavailability=away))) for size in (18, 16)] == [2232, 2048]


def test_a_gain_of_14_4_percent_saves_12_6_of_the_time() -> None:
    assert round(time_saved(MEASURED_GAIN), 3) == 0.126
    assert round(1.59 / 1.39 - 1, 3) == MEASURED_GAIN
    assert round(1 - 1.39 / 1.59, 3) == 0.126


def test_the_price_at_which_the_gain_is_worth_1_67_a_gpu_hour() -> None:
    less_time, more_work = prices_for(saving_per_gpu_hour=1.67, gain=MEASURED_GAIN)
    assert (round(less_time, 2), round(more_work, 2)) == (13.27, 11.60)


def test_ten_thousand_gpus_are_worth_16_7_thousand_an_hour_and_400_a_day() -> None:
    less_time, more_work = prices_for(saving_per_gpu_hour=1.67, gain=MEASURED_GAIN)
    by_time = gain_worth(gpus=10_000, gpu_hour_price=less_time, gain=MEASURED_GAIN).less_time
    by_work = gain_worth(gpus=10_000, gpu_hour_price=more_work, gain=MEASURED_GAIN).more_work
    for worth in (by_time, by_work):
        assert worth.per_gpu_hour == pytest.approx(1.67)
        assert worth.per_hour == pytest.approx(16_700)
        assert round(worth.per_day, -3) == 401_000
    assert gain_worth(gpus=1, gpu_hour_price=3, gain=0.5).less_time.per_gpu_hour == pytest.approx(1)
    assert gain_worth(gpus=1, gpu_hour_price=3, gain=0.5).more_work.per_gpu_hour == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: interruptions(node_days=0, nodes_per_rack=18, nodes=18), "node_days: 0 is not valid; give a number of days above 0"),
        (lambda: unavailability_of(node_days=490, repair_days=float("inf")), "repair_days: inf is not valid"),
        (lambda: repair_days_of(node_days=490, unavailability=1), "unavailability: 1 is not valid; give a share from 0 to below 1"),
        (lambda: time_saved(0), "gain: 0 is not valid"),
        (lambda: gain_worth(gpus=1, gpu_hour_price=-1, gain=0.1), "gpu_hour_price: -1 is not valid"),
        (lambda: gain_worth(gpus=0, gpu_hour_price=1, gain=0.1), "gpus: 0 is not valid"),
        (lambda: prices_for(saving_per_gpu_hour=0, gain=0.1), "saving_per_gpu_hour: 0 is not valid"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidRequest, match=message):
        make()

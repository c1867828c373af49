"""The report that the command, the API and the pages share."""

from __future__ import annotations

import json

import pytest

from clusters.domain.ids import DAY
from scheduling.domain.capacity.advice import JobShape, advise, worth_advising
from scheduling.domain.capacity.history import History
from scheduling.domain.capacity.model import Fleet, Outages
from scheduling.domain.capacity.report import (
    Given,
    Live,
    advice_report,
    capacity_report,
    cluster_report,
    fleet_report,
    label,
    measured_report,
)
from tests.domain.capacity.fleets import FLEET, TWO_PERCENT

SLICES = ((8,), (9,), (16,), (18,), (18, 16))


def test_the_report_has_the_figures_by_slice_size() -> None:
    report = capacity_report(FLEET, TWO_PERCENT, SLICES, node_days=490)
    assert report["usable"] == {"8": 2042.7, "9": 1952.8, "16": 2037.3, "18": 1601.6, "18+16": 2215.3}
    assert report["nodes"] == 2304
    assert report["domains"] == [{"nodes": 18, "count": 128}]
    assert report["interruptions"] == {"node_days": 490.0, "rack_days": 27.2, "fleet_hours": 5.1, "fleet_per_day": 4.7}
    assert report["slices"]["16"] == {
        "nodes": 2037.3,
        "share": 0.8843,
        "sd": 13.0,
        "p01": 2000,
        "p05": 2016,
        "promised_slices": {"0.95": 126, "0.99": 125, "0.999": 124},
        "error": 0.0,
        "after_failures": [16, 16, 16, *[0] * 16],
    }
    assert report["break_evens"][-2:] == [
        {"slices": ["9", "16"], "unavailability": 0.123, "better_below": "16", "better_above": "9"},
        {"slices": ["18", "16"], "unavailability": 0.0065, "better_below": "18", "better_above": "16"},
    ]
    (caveat,) = report["caveats"]
    assert "at 2 % unavailability with independent failures" in caveat
    assert json.loads(json.dumps(report)) == report


def test_sizes_are_labelled_in_order() -> None:
    assert label((16,)) == "16"
    assert label((18, 16)) == "18+16"


def test_the_measured_report_says_what_the_log_says_and_what_it_cannot() -> None:
    history = History()
    for rack in range(8):
        history.observe(0, f"r{rack}", 18, 0)
    for rack in range(8):
        history.observe((10 * rack + 1) * DAY, f"r{rack}", 18, 3)
        history.interrupted((10 * rack + 1) * DAY, f"r{rack}")
        history.observe((10 * rack + 5) * DAY, f"r{rack}", 18, 0)
    live = Live(domains=((18, 18),) * 6 + ((18, 15),) * 2, observed=history.observed(100 * DAY))
    report = measured_report(Fleet.uniform(8, 18), live, ((16,), (18,)))
    assert report["unavailability"]["value"] == pytest.approx(3 * 4 / 1800, abs=1e-5)
    assert report["usable"]["16"]["value"] == pytest.approx(8 * 16 * 0.96, abs=0.05)
    assert report["usable_now"] == {"16": 96, "18": 108}
    assert report["available_now"] == 6 * 18 + 2 * 15
    assert report["interruptions"]["count"] == 8
    assert report["interruptions"]["rack_days"]["value"] == 100.0
    assert report["whole_rack_outages"] == 0
    assert report["cautions"] == [
        "no whole rack was ever away: such outages may be rarer than one in 217 rack-days and not have shown, and rho does not count them"
    ]
    assert json.loads(json.dumps(report)) == report


def test_an_empty_log_makes_an_honest_report() -> None:
    report = measured_report(Fleet.uniform(8, 18), Live(domains=((18, 18),) * 8, observed=History().observed(0)), ((16,),))
    assert report["unavailability"] == {"value": None, "low": None, "high": None, "reason": "nothing was observed yet"}
    assert report["usable"]["16"]["value"] is None
    assert report["interruptions"]["node_days"]["value"] is None


def test_advice_is_told_with_its_reasons() -> None:
    advice = advise(FLEET, TWO_PERCENT, {JobShape(nodes=32): 1}, (16, 18), ends=(Outages(unavailability=0.01),))
    assert advice_report(advice, "of slices of 16 to 18 nodes", (18,), 18) == {
        "size": 16,
        "policy": 18,
        "basis": "of slices of 16 to 18 nodes",
        "elsewhere": [],
        "choices": [
            {"size": 16, "usable": 2037.3, "widths": {"16": 1.0}, "reason": ""},
            {
                "size": 18,
                "usable": 2037.3,
                "widths": {"16": 1.0},
                "reason": "no job of the mix makes a slice of 18 nodes: theirs have 16",
            },
        ],
    }


def test_the_advice_is_the_same_whatever_sizes_are_looked_at() -> None:
    """Once it said 8, 9 and 16 in three places of one cluster: each place asked about sizes of its own."""
    mix, given = {JobShape(nodes=32): 3.0, JobShape(nodes=18): 1.0}, Given(unavailability=0.02)
    live = Live(domains=((18, 18),) * 128, observed=History().observed(0), slice_size=16)
    told = [
        cluster_report(FLEET, live, slices, given, mix)["advice"] for slices in (((8,), (16,)), ((9,),), ((18, 16),), ((4,), (16,), (18,)))
    ]
    assert len({(advice["size"], advice["policy"], advice["basis"]) for advice in told}) == 1
    assert told[0]["size"] == advise(FLEET, TWO_PERCENT, mix, worth_advising(FLEET)).size
    rule = "of those within 1 % of the best the largest is advised"
    assert told[0]["basis"] == f"of slices of 8 to 18 nodes, by the nodes that these jobs can use at 2.00 % unavailability: {rule}"
    for advice, asked in zip(told, ({8, 16}, {9}, set(), {4, 16, 18}), strict=True):
        assert {choice["size"] for choice in advice["choices"]} == asked | {advice["size"], 16}


def test_why_another_size_is_not_advised() -> None:
    mix = {JobShape(nodes=nodes): 1.0 for nodes in (8, 9, 16, 36)}
    advice = fleet_report(FLEET, ((4,), (8,), (9,), (18,)), Given(unavailability=0.003), mix)["advice"]
    assert {choice["size"]: choice["reason"] for choice in advice["choices"]} == {
        4: "only sizes of 8 to 18 nodes are advised",
        8: "7.2 % fewer nodes than with 18",
        9: "0.7 % more nodes than with 18: of those within 1 % of the best the largest is advised",
        18: "",
    }


def test_no_size_beats_another_that_the_jobs_do_not_make() -> None:
    for mix, of_use in ({JobShape(nodes=32): 1.0}, False), ({JobShape(nodes=32): 1.0, JobShape(nodes=18): 1.0}, True):
        points = fleet_report(FLEET, ((8,), (9,), (16,), (18,)), Given(unavailability=0.02), mix)["break_evens"]
        assert {tuple(point["slices"]): point["of_use"] for point in points} == {("9", "16"): of_use, ("18", "16"): of_use}

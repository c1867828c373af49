"""Only sizes that the jobs can use are advised, and never without the caveat."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.errors import InvalidRequest
from scheduling.domain.capacity.advice import JobShape, Mix, advise, caveat
from scheduling.domain.capacity.model import Fleet, Outages, expected
from tests.domain.capacity.fleets import FLEET, PROPERTY, TWO_PERCENT

SIZES = (8, 9, 16, 17, 18)
HALF_PERCENT = Outages(unavailability=0.005)


@pytest.mark.parametrize(
    ("mix", "outages", "advised"),
    [
        pytest.param({JobShape(nodes=32): 1}, TWO_PERCENT, 16, id="16 costs under 1 % against 8 and keeps twice the GPUs together"),
        pytest.param({JobShape(nodes=32): 1}, Outages(unavailability=0.04), 8, id="above 3.27 % it costs more"),
        pytest.param({JobShape(nodes=32): 1}, HALF_PERCENT, 16, id="18 would win, but 32 nodes are 16 + 16 under 18 too"),
        pytest.param({JobShape(nodes=36): 1}, Outages(unavailability=0.0005), 18, id="36 nodes can use 18, where racks hardly fail"),
        pytest.param({JobShape(nodes=36): 1}, HALF_PERCENT, 9, id="and already at 0.5 % halves of a rack lose less"),
        pytest.param({JobShape(nodes=36): 1}, TWO_PERCENT, 9, id="at 2 % they are better off with 9: under 16 they are 12 + 12 + 12"),
        pytest.param({JobShape(nodes=34): 1}, TWO_PERCENT, 17, id="34 nodes can use 17 below 2.36 %"),
        pytest.param({JobShape(nodes=64, unit=16): 1}, Outages(unavailability=0.04), 16, id="a unit of 16 leaves no other size"),
        pytest.param({JobShape(nodes=4): 1}, TWO_PERCENT, None, id="small jobs make no slice of any of the sizes"),
        pytest.param({JobShape(nodes=32): 1, JobShape(nodes=36): 0}, HALF_PERCENT, 16, id="jobs that use no time do not count"),
    ],
)
def test_the_size_advised(mix: Mix, outages: Outages, advised: int | None) -> None:
    assert advise(FLEET, outages, mix, SIZES).size == advised


def test_a_size_that_no_job_makes_is_told_apart_with_the_reason() -> None:
    advice = advise(FLEET, TWO_PERCENT, {JobShape(nodes=32): 3, JobShape(nodes=1): 1}, SIZES)
    assert {choice.size: choice.reason for choice in advice.choices} == {
        8: "",
        9: "no job of the mix makes a slice of 9 nodes: theirs have 8, 1",
        16: "",
        17: "no job of the mix makes a slice of 17 nodes: theirs have 16, 1",
        18: "no job of the mix makes a slice of 18 nodes: theirs have 16, 1",
    }


def test_a_slice_that_fits_in_no_domain_is_no_choice() -> None:
    (choice,) = advise(Fleet.uniform(4, 8), TWO_PERCENT, {JobShape(nodes=32): 1}, (16,)).choices
    assert (choice.usable, choice.reason) == (0, "a slice of 16 nodes has no domain that could hold it")


def test_a_mix_uses_what_its_widths_use_each_in_its_share() -> None:
    (choice,) = advise(FLEET, TWO_PERCENT, {JobShape(nodes=32): 3, JobShape(nodes=1): 1}, (16,)).choices
    assert dict(choice.widths) == pytest.approx({16: 0.75, 1: 0.25})
    of_16, of_1 = (expected(FLEET, (size,), TWO_PERCENT) for size in (16, 1))
    assert choice.usable == pytest.approx(1 / (0.75 / of_16 + 0.25 / of_1))
    # The share of the fleet's domains that each width has adds up to all of them.
    assert choice.usable * 0.75 / of_16 + choice.usable * 0.25 / of_1 == pytest.approx(1)


def test_uneven_slices_share_a_job_by_their_nodes() -> None:
    (choice,) = advise(FLEET, TWO_PERCENT, {JobShape(nodes=500): 1}, (16,)).choices
    assert dict(choice.widths) == pytest.approx({16: 320 / 500, 15: 180 / 500})


def test_advice_that_changes_within_the_interval_says_to_what() -> None:
    mix = {JobShape(nodes=32): 1}
    firm = advise(FLEET, TWO_PERCENT, mix, SIZES, ends=(Outages(unavailability=0.015), Outages(unavailability=0.025)))
    open_to_doubt = advise(FLEET, TWO_PERCENT, mix, SIZES, ends=(Outages(unavailability=0.01), Outages(unavailability=0.04)))
    assert (firm.size, firm.elsewhere) == (16, ())
    assert (open_to_doubt.size, open_to_doubt.elsewhere) == (16, (8,))


@PROPERTY
@given(
    st.dictionaries(st.builds(JobShape, nodes=st.integers(1, 200)), st.integers(1, 9), min_size=1, max_size=4),
    st.lists(st.integers(1, 20), min_size=1, max_size=5, unique=True),
    st.floats(0, 0.2),
)
def test_what_is_advised_is_made_by_some_job_and_costs_at_most_one_percent(mix: Mix, sizes: list[int], away: float) -> None:
    advice = advise(FLEET, Outages(unavailability=away), mix, sizes)
    fit = [choice for choice in advice.choices if not choice.reason]
    assert (advice.size is None) == (not fit)
    for choice in fit:
        assert any(choice.size in shape.slices(choice.size) for shape in mix)
        assert sum(share for _, share in choice.widths) == pytest.approx(1)
    if fit:
        (advised,) = (choice for choice in fit if choice.size == advice.size)
        assert advised.usable >= 0.99 * max(choice.usable for choice in fit) - 1e-9


def test_the_caveat_names_what_the_27_percent_need_and_what_holds_here() -> None:
    assert caveat(FLEET, TWO_PERCENT) == (
        "16-node slices use 27 % more nodes than 18-node ones at 2 % unavailability with independent failures, and only for jobs that need "
        "a rack; here, at 2.00 % with correlation 0.000, the difference is +27 %"
    )
    assert caveat(FLEET, Outages(unavailability=0.02, whole_rack_share=0.75)).endswith(
        "here, at 2.00 % with correlation 0.000 and 75 % of it whole-rack outages, the difference is -3 %"
    )
    assert caveat(Fleet.uniform(10, 9), TWO_PERCENT).endswith("and only for jobs that need a rack")


def test_a_mix_without_jobs_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"mix: .* is not valid; give at least one job on whole nodes"):
        advise(FLEET, TWO_PERCENT, {}, SIZES)


def test_a_job_that_cannot_be_cut_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"nodes: 33 is not valid; give a multiple of slice_size \(16\)"):
        advise(FLEET, TWO_PERCENT, {JobShape(nodes=33, unit=16): 1}, SIZES)

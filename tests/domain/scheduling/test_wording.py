"""Times, GPU-time, counts and names: the same words wherever reasons, answers, plans and pages tell of them."""

from __future__ import annotations

import pytest

from clusters.domain.ids import DAY, HOUR, MINUTE, SECOND, Duration
from scheduling.domain.wording import about, exactly, gpu_hours, in_gpu_hours, listed, many


@pytest.mark.parametrize(("seconds", "words"), [(7200, "2 h"), (5400, "90 min"), (45, "45 s"), (3661, "3661 s")])
def test_a_time_that_is_known_is_told_exactly(seconds: int, words: str) -> None:
    assert exactly(seconds) == words


@pytest.mark.parametrize(
    ("time", "words"), [(29 * SECOND, "0 min"), (119 * MINUTE, "119 min"), (2 * HOUR, "2 h"), (47 * HOUR, "47 h"), (2 * DAY + HOUR, "2 d")]
)
def test_a_time_that_is_guessed_is_told_in_one_unit(time: Duration, words: str) -> None:
    assert about(time) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 GPU-hours"), (120, "120 GPU-seconds"), (360, "0.1 GPU-hours"), (45_000, "12.5 GPU-hours"), (3_600_000, "1,000 GPU-hours")],
)
def test_gpu_time_is_told_in_hours_and_little_of_it_in_seconds(seconds: int, words: str) -> None:
    assert gpu_hours(seconds) == words


def test_programs_get_hours() -> None:
    assert in_gpu_hours(90 * MINUTE) == 1.5


def test_counts_and_names() -> None:
    assert (many(1, "node"), many("1", "node"), many(0, "node")) == ("1 node", "1 node", "0 nodes")
    assert [listed("abcdef"[:count]) for count in (1, 2, 4, 5)] == ["a", "a and b", "a, b, c and d", "a, b, c and 2 more"]

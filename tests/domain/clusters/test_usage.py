"""What teams use: exact, the same however it is counted, and half as much after each half-life."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.dump import dump_state, load_state
from clusters.domain.ids import HOUR, MINUTE, SECOND
from clusters.domain.policy import Policy
from clusters.domain.usage import STEPS, TeamUse, Usage, fade
from tests.support.world import World, ask, racks

HALF_LIVES = st.integers(1, 24 * 365)
changes = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 40 * HOUR)), max_size=12)


def told(steps: list[tuple[int, int]], half_life: int, *looks: int) -> tuple[TeamUse, int]:
    """The use of a team whose GPUs become so many after so long; it is also counted between, where that says so."""
    use, now = TeamUse(), 0
    for number, (gpus, wait) in enumerate(steps):
        for look in range(number in looks):
            use.change(0, now + wait // (2 + look), half_life)
        now += wait
        use.change(gpus - use.gpus, now, half_life)
    return use, now


@given(changes, HALF_LIVES)
def test_use_is_near_to_the_exact_integral(steps: list[tuple[int, int]], half_life: int) -> None:
    """Everything fades at the ends of steps of a sixtieth of the half-life, so the sum is within 2^(1/60), or 1.2 %."""
    use, now = told(steps, half_life)
    exact, gpus = 0.0, 0
    for count, wait in steps:
        exact = _decayed(exact, gpus, wait, half_life)
        gpus = count
    later = now + HOUR
    exact = _decayed(exact, gpus, HOUR, half_life)
    spent = use.spent_at(later, half_life)
    assert exact / 1.0125 - len(steps) - 2 <= spent <= exact * 1.0125 + len(steps) + 2


def _decayed(before: float, gpus: int, wait: int, half_life: int) -> float:
    rate = half_life * HOUR
    left: float = 2 ** (-wait / rate)
    return before * left + gpus * rate / 0.6931471805599453 * (1 - left)


@given(changes, HALF_LIVES, st.sets(st.integers(0, 11)))
def test_looking_between_changes_nothing_but_a_rounding(steps: list[tuple[int, int]], half_life: int, looks: set[int]) -> None:
    """Each look rounds down once, by less than a GPU-microsecond and what 40 bits of a factor leave."""
    plain, now = told(steps, half_life)
    looked, _ = told(steps, half_life, *looks)
    a, b = plain.spent_at(now, half_life), looked.spent_at(now, half_life)
    assert abs(a - b) <= 4 * (len(steps) + 1) + Fraction(max(a, b), 10**9)


def test_after_a_half_life_exactly_half_is_left() -> None:
    use = TeamUse(spent=1_000_000_000, since=7 * MINUTE)
    for lives in range(1, 20):
        assert use.spent_at(7 * MINUTE + lives * 10 * HOUR, 10) == 1_000_000_000 >> lives


@given(st.integers(0, 10**18), st.integers(0, 500), st.integers(0, 500))
def test_fading_in_two_goes_is_fading_in_one(amount: int, first: int, second: int) -> None:
    once, twice = fade(amount, first + second), fade(fade(amount, first), second)
    assert 0 <= once - twice + 2 + once // 10**9 <= 4 + 2 * (once // 10**9 + 1)
    assert fade(amount, STEPS) == amount // 2


def test_without_a_half_life_only_what_is_held_counts() -> None:
    usage = Usage()
    usage.change("vision", 16, 5 * SECOND, 0)
    assert (usage.gpus("vision"), usage.teams["vision"].spent_at(HOUR, 0)) == (16, 0)
    usage.change("vision", -16, HOUR, 0)
    assert not usage.teams


def test_jobs_are_counted_for_their_teams_while_they_hold_nodes_and_half_lives_may_change() -> None:
    world = World(racks(2), Policy(fair_share_half_life_h=1))
    job = world.run(ask(8, team="vision"))
    share = world.run(ask(gpus=3, team="nlp"))
    usage = world.state.usage
    assert (usage.gpus("vision"), usage.gpus("nlp"), usage.gpus("other")) == (32, 3, 0)
    world.now = HOUR
    world.finish(job.id)
    assert usage.gpus("vision") == 0
    spent = usage.teams["vision"].spent_at(HOUR, 1)
    assert abs(spent / (32 * HOUR) - 0.7213) < 0.01  # the integral of 2^-t over an hour
    world.now = 2 * HOUR
    assert load_state(dump_state(world.state)).usage.dump() == usage.dump()
    assert usage.teams["vision"].spent_at(world.now, 1) == spent // 2
    world.finish(share.id)
    assert usage.gpus("nlp") == 0

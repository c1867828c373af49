"""Quotas: never beyond quota and loan, never more together than all quotas, and told with their counts."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.commands import SubmitJob, SubmitJobs
from clusters.domain.decision import Refusal
from clusters.domain.ids import SECOND, job_id
from clusters.domain.job_events import JobBlocked, JobPlaced, JobSubmitted, WorkStopped
from clusters.domain.policy import Policy
from clusters.domain.teams import Quota
from scheduling.domain.queue import place_steps
from scheduling.domain.quotas import Quotas
from scheduling.domain.refusals import explain
from scheduling.domain.trial import Trial
from scheduling.domain.waiting import refusal_now
from tests.support.world import World, ask, racks


def world_of(*quotas: Quota, count: int = 4) -> World:
    return World(racks(count), Policy(quotas=quotas))


def test_a_team_borrows_what_others_leave_and_no_more() -> None:
    world = world_of(Quota(team="a", gpus=16), Quota(team="b", gpus=48))
    job = world.run(ask(4, team="b"))
    assert job.slices
    first, second = world.run(ask(12, team="a")), world.submit(ask(1, team="a"))
    assert first.slices  # 48 of 64 GPUs are left by then
    (blocked,) = world.run_pass()
    assert blocked == JobBlocked(job=second, code="quota", counts={"asked": 4, "could_borrow": 0, "quota": 16, "team": "a", "used": 48})
    world.finish(job.id)
    assert [event.job for event in world.run_pass() if isinstance(event, JobPlaced)] == [second]


def test_a_loan_ends_at_its_limit() -> None:
    world = world_of(Quota(team="a", gpus=16, borrow=8), Quota(team="b", gpus=256))
    world.run(ask(4, team="a"))
    name = world.submit(ask(2, team="a"))
    assert [event.job for event in world.run_pass() if isinstance(event, JobPlaced)] == [name]
    last = world.submit(ask(1, team="a"))
    world.run_pass()
    assert (world.job(last).blocked, world.job(last).counts["could_borrow"]) == ("quota", 0)


def test_the_reason_reads_as_a_sentence_and_is_counted_anew_when_asked() -> None:
    world = world_of(Quota(team="a", gpus=16), Quota(team="b", gpus=4))
    world.run(ask(4, team="a"))
    name = world.submit(ask(2, team="a"))
    world.run_pass()
    refusal = refusal_now(Trial(world.state, 0), world.job(name))
    assert refusal is not None
    assert explain(refusal) == "held by the quota of team a: 16 of 16 GPUs in use, and it asks for 8; it could borrow 4"
    world.run(ask(1, team="b"))
    again = refusal_now(Trial(world.state, 0), world.job(name))
    assert again is not None
    assert again.counts["could_borrow"] == 0


def test_the_star_stands_for_each_team_without_a_row_and_for_work_of_no_team() -> None:
    world = world_of(Quota(team="a", gpus=64), Quota(team="*", gpus=8, borrow=0))
    jobs = [world.run(ask(2, team=team)) for team in ("x", "y", "")]
    assert all(job.slices for job in jobs)
    for team in ("x", ""):
        name = world.submit(ask(1, team=team))
        world.run_pass()
        assert world.job(name).blocked == "quota"


def test_a_team_of_the_star_lends_nothing() -> None:
    world = world_of(Quota(team="*", gpus=16))
    world.run(ask(1, team="x"))
    world.run(ask(3, team="y"))
    name = world.submit(ask(2, team="y"))
    world.run_pass()
    assert (world.job(name).blocked, world.job(name).counts["could_borrow"]) == ("quota", 0)


def test_a_team_without_any_quota_may_use_all() -> None:
    world = world_of(Quota(team="a", gpus=8))
    assert all(world.run(ask(18, team="free")).slices for _ in range(4))


@pytest.mark.parametrize("many", [False, True])
def test_what_could_never_be_within_quota_and_loan_is_refused_at_once(many: bool) -> None:
    world = world_of(Quota(team="a", gpus=16, borrow=8), Quota(team="b", gpus=64))
    request = ask(7, team="a")
    outcome = world.do(SubmitJobs(requests=(ask(1), request), by="ada") if many else SubmitJob(request=request, by="ada"))
    assert isinstance(outcome, Refusal)
    field = "jobs[1].nodes" if many else "nodes"
    assert (outcome.code, outcome.counts["field"]) == ("invalid", field)
    assert outcome.message == f"{field}: team a may have at most 24 GPUs, borrowed ones included"
    assert world.submit(ask(6, team="a"))


TEAMS = ("a", "b", "c", "")
rows = st.lists(
    st.builds(Quota, team=st.sampled_from(("a", "b", "*")), gpus=st.integers(0, 100), borrow=st.none() | st.integers(0, 60)),
    unique_by=lambda row: row.team,
    max_size=3,
)
steps = st.lists(st.tuples(st.sampled_from(TEAMS), st.integers(1, 12), st.booleans()), min_size=1, max_size=14)


@settings(max_examples=40)
@given(rows, steps)
def test_nothing_is_lent_beyond_a_limit_or_that_others_do_not_leave(quotas: list[Quota], asked: list[tuple[str, int, bool]]) -> None:
    """A team within its quota starts whatever was lent before; who borrows finds it there at that moment."""
    world = World(racks(3), Policy(quotas=tuple(quotas)), checked=False)
    for team, nodes, end in asked:
        world.do(SubmitJob(request=ask(nodes, team=team, restartable=False), by="ada"))
        if end and (running := [name for name, job in world.state.jobs.items() if job.slices]):
            world.finish(running[0])
        world.settle()
    world.log.sound()
    held: Counter[str] = Counter()
    teams: dict[str, str] = {}
    known = Quotas(world.state)
    for event in world.log.events:
        match event.payload:
            case JobSubmitted():
                teams[job_id(event.seq)] = event.payload.request.team
            case WorkStopped():
                held[teams[event.payload.job]] -= 4 * len(event.payload.nodes)
            case JobPlaced():
                team = teams[event.payload.job]
                held[team] += 4 * sum(len(part.nodes) for part in event.payload.slices)
                row = known.of(team)
                if row is not None and held[team] > row.gpus:
                    _check_loan(held, world.state.policy, team, row)
    assert {team: gpus for team, gpus in held.items() if gpus} == {team: use.gpus for team, use in world.state.usage.teams.items()}


@settings(max_examples=60)
@given(rows, st.lists(st.tuples(st.sampled_from(TEAMS), st.integers(1, 60)), min_size=1, max_size=8))
def test_where_teams_stand_follows_what_was_taken(quotas: list[Quota], taken: list[tuple[str, int]]) -> None:
    """Asking before something is taken does not change what is said after it."""
    state = World([], Policy(quotas=tuple(quotas)), checked=False).state
    asked, quiet = Quotas(state), Quotas(state)
    for team, gpus in taken:
        for other in TEAMS:
            asked.refusal(other, gpus)
        asked.take(team, gpus)
        quiet.take(team, gpus)
    for team in TEAMS:
        for gpus in (1, 8, 40, 200):
            assert asked.refusal(team, gpus) == quiet.refusal(team, gpus)
            assert asked.borrows(team, gpus) == quiet.borrows(team, gpus)


@settings(max_examples=40)
@given(rows, steps, st.integers(0, 120))
def test_who_gets_no_turn_as_the_quota_says_would_have_changed_nothing(
    quotas: list[Quota], asked: list[tuple[str, int, bool]], later: int
) -> None:
    world = World(racks(2), Policy(quotas=tuple(quotas)), checked=False)
    for team, nodes, end in asked:
        world.do(SubmitJob(request=ask(nodes, team=team, restartable=False), by="ada"))
        if end:
            world.settle()
    world.now += later * SECOND
    for name in [name for name, job in world.state.jobs.items() if job.slices][:2]:
        world.finish(name)
        alone, among_all = (list(place_steps(Trial(world.state, world.now), until=until)) for until in ("", "nobody"))
        assert alone == among_all
        world.run_pass()


def _check_loan(held: Counter[str], policy: Policy, team: str, row: Quota) -> None:
    assert row.borrow is None or held[team] <= row.gpus + row.borrow
    named = {row.team: row.gpus for row in policy.quotas if row.team != "*"}
    star = next((row.gpus for row in policy.quotas if row.team == "*"), None)
    beyond = 0 if star is None else sum(max(0, gpus - star) for other, gpus in held.items() if other not in named)
    assert sum(held[name] for name in named) + beyond <= sum(named.values())

"""Jobs that are to start after others, or not before some instant."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusters.domain.commands import CancelJob, HoldJob, ReleaseJob, SubmitJob, SubmitJobs
from clusters.domain.decision import Refusal
from clusters.domain.dump import dump_state, load_state
from clusters.domain.ids import HOUR, SECOND
from clusters.domain.job_events import JobBlocked, JobFailed, JobHeld, JobPlaced, JobSubmitted, WorkStopped
from clusters.domain.jobs import JobState
from scheduling.domain.refusals import explain
from scheduling.domain.trial import Trial
from scheduling.domain.waiting import refusal_now
from tests.support.world import World, ask, racks


def fail(world: World, name: str) -> None:
    job = world.job(name)
    world.add(JobFailed(job=name, generation=job.generation, reason="exit 1"))
    world.add(WorkStopped(job=name, generation=job.generation, nodes=tuple(job.held_nodes)))


def placed(world: World) -> list[str]:
    return [event.job for event in world.settle() if isinstance(event, JobPlaced)]


def test_a_job_waits_for_all_that_it_follows_and_says_so_once() -> None:
    world = World(racks(2))
    first, second = world.run(ask(2)), world.run(ask(2))
    name = world.submit(ask(2, after=(first.id, second.id)))
    assert world.run_pass() == [JobBlocked(job=name, code="held", counts={"after": 2, "first": first.id})]
    assert world.run_pass() == []
    world.finish(first.id)
    assert world.settle() == []
    refusal = refusal_now(Trial(world.state, 0), world.job(name))
    assert refusal is not None
    assert explain(refusal) == f"waits for job {second.id} to finish"
    world.finish(second.id)
    assert placed(world) == [name]


def test_what_has_finished_already_is_not_waited_for() -> None:
    world = World(racks(1))
    first = world.run(ask(2))
    world.finish(first.id)
    name = world.submit(ask(2, after=(first.id,)))
    assert placed(world) == [name]


@pytest.mark.parametrize("how", ["fail", "cancel"])
def test_a_job_whose_forerunner_does_not_finish_is_held_and_starts_when_it_is_released(how: str) -> None:
    world = World(racks(1))
    first, other = world.run(ask(2)), world.run(ask(2))
    name = world.submit(ask(2, after=(first.id, other.id)))
    world.run_pass()
    if how == "fail":
        fail(world, first.id)
    else:
        world.do(CancelJob(job=first.id, by="ada"))
    reason = f"it was to start after job {first.id}, which {'failed' if how == 'fail' else 'was cancelled'}"
    assert [event for event in world.settle() if isinstance(event, JobHeld)] == [JobHeld(job=name, reason=reason)]
    job = world.job(name)
    assert (job.state, job.reason, job.blocked) == (JobState.HELD, reason, "")
    world.do(ReleaseJob(job=name, by="ada"))
    assert placed(world) == []  # it still follows the other one
    world.finish(other.id)
    assert placed(world) == [name]


def test_a_job_that_a_user_holds_learns_of_it_when_it_is_released() -> None:
    world = World(racks(1))
    first = world.run(ask(2))
    name = world.submit(ask(2, after=(first.id,)))
    world.do(HoldJob(job=name, by="ada"))
    fail(world, first.id)
    assert world.settle() == []
    world.do(ReleaseJob(job=name, by="ada"))
    assert [type(event) for event in world.settle()] == [JobHeld]
    world.do(ReleaseJob(job=name, by="ada"))
    assert placed(world) == [name]


def test_a_whole_chain_runs_one_after_another() -> None:
    world = World(racks(1))
    names = [world.submit(ask(1))]
    for _ in range(4):
        names.append(world.submit(ask(1, after=(names[-1],))))
    for name in names:
        assert placed(world) == [name]
        world.finish(name)


def test_unknown_and_hopeless_forerunners_are_refused_at_submission() -> None:
    world = World(racks(1))
    first = world.run(ask(2))
    fail(world, first.id)
    cases = {"j999999": "name a job of this cluster", first.id: "it has failed and will never finish"}
    for name, told in cases.items():
        for command in (SubmitJob(request=ask(2, after=(name,)), by="ada"), SubmitJobs(requests=(ask(2, after=(name,)),), by="ada")):
            outcome = world.do(command)
            assert isinstance(outcome, Refusal)
            assert (outcome.code, outcome.counts["value"]) == ("invalid", name)
            assert told in outcome.message


def test_a_trace_may_name_what_nobody_knows_and_waits_for_nothing() -> None:
    world = World(racks(1))
    world.add(JobSubmitted(request=ask(2, after=("j999999",)), submitted_by="trace"))
    assert len(placed(world)) == 1


def test_an_unknown_class_is_refused_at_submission_by_name() -> None:
    outcome = World(racks(1)).do(SubmitJob(request=ask(2, priority_class="vip"), by="ada"))
    assert isinstance(outcome, Refusal)
    assert outcome.message == "priority_class: give one of: standard, production, batch"


def test_a_job_does_not_start_before_its_time_and_ages_only_from_then_on() -> None:
    world = World(racks(1))
    start = 1_900_000_000 * SECOND
    name = world.submit(ask(2, not_before=start))
    assert world.run_pass() == [JobBlocked(job=name, code="held", counts={"not_before": start})]
    refusal = refusal_now(Trial(world.state, 0), world.job(name))
    assert refusal is not None
    assert explain(refusal) == "is not to start before 2030-03-17 17:46 UTC"
    world.now = start - 1
    assert world.run_pass() == []
    assert world.job(name).aged_from == start
    world.now = start
    assert placed(world) == [name]


def test_time_spent_waiting_for_others_does_not_count_as_waiting() -> None:
    world = World(racks(1))
    first = world.run(ask(16))
    follower = world.submit(ask(16, after=(first.id,)))
    world.now = 5 * HOUR
    rival = world.submit(ask(16))
    world.now = 6 * HOUR
    world.finish(first.id)
    assert world.job(follower).aged_from == 6 * HOUR
    assert placed(world) == [rival]


steps = st.lists(
    st.tuples(st.sampled_from(("submit", "end", "fail", "cancel", "hold", "release", "pass")), st.integers(0, 30)), max_size=30
)


@settings(max_examples=60)
@example([("submit", 0), ("submit", 0), ("submit", 1), ("cancel", 0), ("pass", 0), ("release", 1), ("end", 0)])
@given(steps)
def test_nothing_starts_before_what_it_follows_has_finished_unless_it_was_released(told: list[tuple[str, int]]) -> None:
    world = World(racks(1, nodes=6))
    follows: dict[str, tuple[str, ...]] = {}
    freed: dict[str, set[str]] = {}
    for step, number in told:
        names = sorted(world.state.jobs)
        name = names[number % len(names)] if names else None
        if step == "submit":
            after = tuple(names[-1 - number % 2 :]) if number % 3 and names else ()
            follows[world.submit(ask(1 + number % 3, after=after, spares=0))] = after
        elif step == "pass":
            _check(world, follows, freed)
        elif name is not None:
            _do(world, step, name, follows, freed)
    _check(world, follows, freed)
    dump = dump_state(world.state)
    assert dump_state(load_state(dump)) == dump


def _do(world: World, step: str, name: str, follows: dict[str, tuple[str, ...]], freed: dict[str, set[str]]) -> None:
    """`freed` are the jobs that a release has let others go on without: those that had ended by then."""
    job = world.job(name)
    if step == "release":
        if job.state is JobState.HELD:
            freed.setdefault(name, set()).update(other for other in follows[name] if other in world.state.ended)
        world.do(ReleaseJob(job=name, by="ada"))
    elif step == "hold":
        world.do(HoldJob(job=name, by="ada"))
    elif step == "cancel":
        world.do(CancelJob(job=name, by="ada"))
    elif job.state is JobState.RUNNING:
        world.finish(name) if step == "end" else fail(world, name)


def _check(world: World, follows: dict[str, tuple[str, ...]], freed: dict[str, set[str]]) -> None:
    for event in world.settle():
        if isinstance(event, JobPlaced):
            ends = [world.state.ended.get(name) for name in follows[event.job] if name not in freed.get(event.job, ())]
            assert all(end is JobState.FINISHED for end in ends), (event, ends)

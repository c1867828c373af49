"""Loans of quota, and of spares: refused where nobody could ever give them, waited for where somebody may, and told alike before and after
submission."""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.commands import ChangePolicy, ReleaseJob, SubmitJob
from clusters.domain.decision import Decision, Refusal
from clusters.domain.jobs import JobState
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.teams import Quota
from scheduling.domain.counterfactuals import Kind, counterfactuals
from scheduling.domain.refusals import explain
from scheduling.domain.trial import Trial
from scheduling.domain.waiting import refusal_now, would_wait
from scheduling.domain.why import why
from tests.domain.scheduling.counterfactuals.applying import comes_true
from tests.support.world import World, ask, racks


def world_of(*quotas: Quota) -> World:
    return World(racks(4), Policy(quotas=quotas))


def test_what_no_loan_could_ever_cover_is_refused_when_it_is_submitted() -> None:
    """Nobody has anything to lend: with no limit of its own the loan would be waited for for ever."""
    world = world_of(Quota(team="a", gpus=16))
    refusal = world.do(SubmitJob(request=ask(8, team="a"), by="ada"))
    assert isinstance(refusal, Refusal)
    assert refusal.message == "nodes: team a may have at most 16 GPUs, borrowed ones included"
    world = world_of(Quota(team="a", gpus=16), Quota(team="b", gpus=16), Quota(team="*", gpus=64))
    world.submit(ask(8, team="a"))
    assert isinstance(world.do(SubmitJob(request=ask(9, team="a"), by="ada")), Refusal), "teams of the star lend nothing"


def test_a_job_that_only_another_policy_starts_is_told_so() -> None:
    world = world_of(Quota(team="a", gpus=64))
    name = world.submit(ask(8, team="a", held=True))
    policy = replace(world.state.policy, quotas=(Quota(team="a", gpus=16, borrow=0),))
    assert isinstance(world.do(ChangePolicy(policy=policy, expected=1, by="op", reason="less")), Decision)
    world.do(ReleaseJob(job=name, by="ada"))
    world.settle()
    found = why(world.state, world.job(name), world.now)
    assert found.text.endswith("it may never have more than 16, so nothing but another policy, or asking for less, starts it")
    assert [each.kind for each in found.counterfactuals] == [Kind.SIZE]


def test_what_lenders_free_is_named_where_the_team_itself_has_nothing_to_free() -> None:
    world = world_of(Quota(team="a", gpus=16), Quota(team="b", gpus=64))
    lender = world.run(ask(16, team="b", time_limit_s=3600)).id
    name = world.submit(ask(8, team="a"))
    world.settle()
    found = {each.kind: each for each in counterfactuals(world.state, world.job(name), world.now)}
    assert found[Kind.QUOTA].params == {"team": "a", "gpus": 64, "jobs": (lender,)}
    assert found[Kind.QUOTA].text == f"it starts in about 61 min, when team b has freed 64 GPUs, those of {lender}"
    assert comes_true(world, name, found[Kind.QUOTA])


def test_a_request_would_wait_for_the_same_reason_as_the_job_that_it_becomes() -> None:
    world = world_of(Quota(team="a", gpus=64, borrow=0))
    world.run(ask(12, team="a"))
    foreseen = would_wait(Trial(world.state, world.now), ask(8, team="a"))
    name = world.submit(ask(8, team="a"))
    world.settle()
    told = refusal_now(Trial(world.state, world.now), world.job(name))
    assert foreseen is not None
    assert told == foreseen
    assert explain(foreseen) == "held by the quota of team a: 48 of 64 GPUs in use, and it asks for 32; it could borrow 0"
    later = would_wait(Trial(world.state, world.now), ask(1, team="a", after=(name,)))
    assert later is not None
    assert explain(later) == f"waits for job {name} to finish"


# ---- spares


def all_spares(*, lending: bool = False) -> World:
    """A cluster that keeps every node as a spare, from the start."""
    return World(racks(1, nodes=4), Policy(slice_size=4, target_spares=4, spares_scope=SparesScope.ALL, lending=lending))


def test_work_for_which_the_policy_leaves_no_node_is_refused_with_what_it_takes() -> None:
    outcome = all_spares().do(SubmitJob(request=ask(gpus=1), by="ada"))
    assert isinstance(outcome, Refusal)
    assert outcome.message == (
        "gpus: 1 can never be placed here; the policy keeps all nodes that it could have as spares; it takes fewer target_spares"
    )
    outcome = all_spares().do(SubmitJob(request=ask(1), by="ada"))
    assert isinstance(outcome, Refusal)
    assert outcome.message.endswith("it takes fewer target_spares, or lending to restartable work")


def test_work_that_may_run_on_lent_spares_is_taken_and_runs() -> None:
    world = all_spares(lending=True)
    assert world.run(ask(1)).state is JobState.RUNNING
    outcome = world.do(SubmitJob(request=ask(1, restartable=False), by="ada"))
    assert isinstance(outcome, Refusal)


def test_a_job_that_could_run_on_spares_only_is_told_that_lending_would_start_it() -> None:
    world = World(racks(1))
    world.run(ask(16, restartable=False))
    name = world.submit(ask(1))
    world.settle()
    found = {each.kind: each for each in counterfactuals(world.state, world.job(name), world.now)}
    assert found[Kind.POLICY].params == {"setting": "lending", "value": True}
    assert found[Kind.POLICY].text == "it would start if the policy's lending were on: then spares are lent to restartable work"
    assert comes_true(world, name, found[Kind.POLICY])


def test_a_request_that_spares_are_lent_to_would_not_wait() -> None:
    for lending in (False, True):
        world = World(racks(1), Policy(lending=lending))
        world.run(ask(16, restartable=False))
        foreseen = would_wait(Trial(world.state, world.now), ask(1))
        assert (foreseen is None) is lending
        assert (world.run(ask(1)).state is JobState.RUNNING) is lending

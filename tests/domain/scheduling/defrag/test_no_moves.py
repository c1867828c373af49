"""Asking whom to evict: the question of a plan in which nothing moves."""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.defrag import PlanAim
from clusters.domain.policy import Policy
from clusters.domain.setting import Backfill
from scheduling.domain.defrag.model import Problem, Terms
from scheduling.domain.defrag.problem import problem_for_job
from scheduling.domain.trial import Trial
from tests.support.world import World, ask, racks


def test_where_nothing_may_move_the_question_is_the_same_without_what_stays() -> None:
    """Who is not among the victims is not looked at then, but a node that one of them shares with a victim is not freed."""
    world = World(racks(3), Policy(backfill=Backfill.OFF))
    victims = [world.run(ask(nodes, **fields)) for nodes, fields in ((4, {}), (20, {"max_slice": 10}), (2, {"team": "red"}))]
    small = [world.run(ask(gpus=gpus, spares=0)) for gpus in (1, 1, 2)]
    world.run(ask(3, restartable=False))
    among = frozenset(job.id for job in [*victims, *small[:2]])
    name = world.submit(ask(12, held=True))
    trial = Trial(world.state, world.now)

    def asked(*, moves: bool, victims: frozenset[str]) -> Problem:
        terms = Terms(victims=victims, higher=True, moves=moves)
        problem = problem_for_job(trial, world.job(name), may_wait=True, use_spares=True, aim=PlanAim.QUOTA, terms=terms)
        assert problem is not None
        return problem

    for chosen, units in ((among, 4), (among | {small[2].id}, 5)):
        long, short = asked(moves=True, victims=chosen), asked(moves=False, victims=chosen)
        assert len(short.units) == units
        assert short.units == tuple(replace(unit, allowed=0) for unit in long.units)
        assert short.owners == long.owners
        assert short.domains == tuple(replace(here, pinned=()) for here in long.domains)
        assert any(here.pinned for here in long.domains)

"""Somebody asks why jobs wait: nothing changes by that, and nobody is told to wait for a pass that has been."""

from __future__ import annotations

from random import Random

from clusters.domain.dump import dump_state
from clusters.domain.jobs import QUEUED
from scheduling.domain.stalls import is_stalled
from scheduling.domain.why import why
from tests.scenarios.breaking.ground import Ground

#: What is said of a job that the next pass helps.
COMES = "with the next pass"


def ask_why(ground: Ground, chance: Random) -> None:
    """Of a job that waits or is stalled, once all has been decided that can be."""
    ground.settle()
    state = ground.state
    asked = [job for job in state.jobs.values() if job.state in QUEUED or is_stalled(job)]
    if not asked:
        return
    name = chance.choice(asked).id
    before = dump_state(state)
    told = why(state, state.jobs[name], ground.now)
    assert dump_state(state) == before, "an answer has changed the state"
    assert why(state, state.jobs[name], ground.now) == told, "the same question has another answer"
    ground.sound()
    assert COMES not in told.text, f"{name} goes on {COMES}, says the answer, and the pass has been"

"""On a full demo cluster a job waits for a place that nobody has: `why` says so, and what it says would help does."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from clusters.domain.evolve import evolve
from clusters.domain.ids import MINUTE
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from scheduling.domain.counterfactuals import Counterfactual, Kind
from scheduling.simulator.opening import NAME, demo_create, demo_options
from tests.domain.clusters.logs import Log
from tests.domain.scheduling.counterfactuals.applying import comes_true
from tests.support.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def demo() -> None:
    """The demo's users on sixteen racks, after ten minutes."""
    assert demo_create(options=demo_options(), racks=16, played=10 * MINUTE)


def why(job: str, *options: str) -> str:
    out = io.StringIO()
    call_command("why", job, *options, cluster=NAME, stdout=out)
    return out.getvalue()


def blocked_by_topology() -> list[str]:
    with live(NAME).reading() as state:
        return [name for name in state.queue if state.jobs[name].blocked == "topology-blocked"]


def as_it_is(now: int) -> World:
    """The cluster of the log in memory, where it can be tried out."""
    world = World(())
    world.log = Log()
    for event in default_log().read(NAME):
        world.log.events.append(event)
        evolve(world.log.state, event)
    world.now, world._told = now, len(world.log.events)
    return world


def test_a_job_blocked_by_topology_is_told_what_would_start_it_and_that_comes_true(demo: None) -> None:
    answers: list[dict[str, Any]] = [json.loads(why(name, "--json")) for name in blocked_by_topology()]
    told = max(answers, key=lambda answer: len(answer["counterfactuals"]))
    assert len(told["counterfactuals"]) >= 2
    assert (told["state"], told["code"]) == ("waiting", "topology-blocked")
    assert told["text"].startswith("needs ")
    assert 1 <= told["position"] <= told["waiting"]
    world = as_it_is(told["now_us"])
    for found in told["counterfactuals"]:
        meant = Counterfactual(
            kind=Kind(found["kind"]), text=found["text"], params=found["params"], cost_gpu_hours=found["cost_gpu_hours"], at=found["at_us"]
        )
        assert comes_true(world, told["job"], meant), found


def test_the_same_in_sentences(demo: None) -> None:
    job = blocked_by_topology()[0]
    lines = why(job).splitlines()
    assert lines[0].startswith(f"{job} is waiting. Needs ")
    assert lines[1].startswith("It is number ")
    assert "What would let it start:" in lines
    assert all(line.startswith("  - It ") for line in lines[lines.index("What would let it start:") + 1 :])


def test_what_is_no_job_is_said_to_be_none(demo: None) -> None:
    with pytest.raises(CommandError, match="there is no job 'j999999' in cluster demo"):
        why("j999999")
    with live(NAME).reading() as state:
        ended, outcome = next(iter(state.ended.items()))
        running = next(name for name, job in state.jobs.items() if job.state == "running")
    assert "it has " in why(ended).lower() or outcome in why(ended)
    assert "does not wait: it is running" in why(running)

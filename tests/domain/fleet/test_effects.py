"""What events ask of an engine."""

from __future__ import annotations

import pytest

from clusters.connectors.base import Slot
from clusters.connectors.effects import Effect, Start, Stop, effect_of
from clusters.connectors.simulated.options import FleetOptions, fleet_options
from clusters.domain.errors import InvalidRequest
from clusters.domain.job_events import (
    AfterStop,
    JobFinished,
    JobPlaced,
    NodeSwapped,
    SliceAssignment,
    SliceMoved,
    StopRequested,
)

PART = SliceAssignment(domain="r1", nodes=("a", "b"))
SHARED = SliceAssignment(domain="r1", nodes=("a",), gpus=(2, 3))


@pytest.mark.parametrize(
    ("payload", "effect"),
    [
        (
            JobPlaced(job="j1", generation=1, slices=(PART, PART)),
            Start(
                job="j1",
                generation=1,
                slots=tuple(Slot(slice=part, slot=slot, node=node) for part in (0, 1) for slot, node in enumerate("ab")),
            ),
        ),
        (
            JobPlaced(job="j1", generation=1, slices=(SHARED,)),
            Start(job="j1", generation=1, slots=(Slot(slice=0, slot=0, node="a", gpus=(2, 3)),)),
        ),
        (
            NodeSwapped(job="j1", generation=2, slice=1, slot=7, old="a", new="c", reason=""),
            Start(job="j1", generation=2, slots=(Slot(slice=1, slot=7, node="c"),)),
        ),
        (
            SliceMoved(job="j1", generation=3, slice=1, old_domain="r0", assignment=PART, released=("x",), lost=("y",), reason=""),
            Start(job="j1", generation=3, slots=(Slot(slice=1, slot=0, node="a"), Slot(slice=1, slot=1, node="b"))),
        ),
        (
            StopRequested(job="j1", generation=3, nodes=("x",), after=AfterStop.CONTINUES, reason=""),
            Stop(job="j1", generation=3, nodes=("x",)),
        ),
        (JobFinished(job="j1", generation=3), None),
    ],
)
def test_an_event_asks_for_one_effect_or_for_none(payload: object, effect: Effect | None) -> None:
    assert effect_of(payload) == effect


def test_options_survive_the_log_and_unknown_ones_are_passed_over() -> None:
    options = FleetOptions(seed=2**53, failures_per_node_day=0.06, generator=1)
    assert fleet_options({**options.numbers(), "of a later version": 1.0}) == options


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"failure_cv": 0.5}, {"lemon_share": 1.5}, {"speed": -1}, {"failures_per_node_day": 11}])
def test_options_that_no_fleet_could_have_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        fleet_options(wrong)
    assert refused.value.field in wrong

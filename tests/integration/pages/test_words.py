"""Every event has words, and the life of a job is read from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import Any, get_args, get_type_hints

import pytest

from clusters.domain import job_events as ev
from clusters.domain.defrag import Plan
from clusters.domain.events import PAYLOADS, Event, Payload
from clusters.domain.jobs import JobKind, JobRequest, JobState
from clusters.domain.policy import Policy
from frontend.selectors.life import Life, life_of
from frontend.selectors.telling import QUIET, tell

REQUEST = JobRequest(name="train", kind=JobKind.TRAINING, nodes=32)
SLICE = ev.SliceAssignment(domain="r1", nodes=("n1", "n2"))

#: A value for each type of field that an event may have.
VALUES: Mapping[Any, Any] = {str: "x", int: 1, float: 2.0, bool: True, JobRequest: REQUEST, Policy: Policy(), ev.SliceAssignment: SLICE}


def sample(kind: str) -> Payload:
    """An event of this kind with its required fields."""
    cls = PAYLOADS[kind]
    hints = get_type_hints(cls)
    needed = [field.name for field in fields(cls) if field.default is MISSING and field.default_factory is MISSING]
    return cls(**{name: value_of(hints[name]) for name in needed})


def value_of(hint: Any) -> Any:
    if hint in VALUES:
        return VALUES[hint]
    if hint is ev.AfterStop:
        return ev.AfterStop.CANCELLED
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return next(iter(hint))
    if hint is Plan:
        return Plan(**{field.name: value_of(get_type_hints(Plan)[field.name]) for field in fields(Plan)})
    inner = get_args(hint)[0]
    return (
        (SLICE,)
        if inner is ev.SliceAssignment
        else ("n1",)
        if inner is str and "tuple" in str(hint)
        else ()
        if "tuple" in str(hint)
        else value_of(inner)
    )


def event(payload: Payload, at: int = 0, seq: int = 1) -> Event:
    return Event(seq, type(payload).__name__, payload.VERSION, at, 0, "j000001", payload, "test", str(seq), None, None, "")


@pytest.mark.parametrize("kind", PAYLOADS)
def test_every_kind_of_event_has_words(kind: str) -> None:
    told = tell(event(sample(kind)))
    assert told.title[:1].strip()
    assert told.tone in ("", "good", "warn", "bad")
    assert told.job == ("j000001" if PAYLOADS[kind].__module__ == ev.__name__ else "")


def test_what_is_quiet_is_a_kind_of_event() -> None:
    assert PAYLOADS.keys() >= QUIET


def test_a_placement_names_its_domains_and_their_slices() -> None:
    twice = ev.JobPlaced(job="j000001", generation=1, slices=(SLICE, SLICE, ev.SliceAssignment(domain="r2", nodes=("n9",))))
    assert (tell(event(twice)).title, tell(event(twice)).detail) == ("Placed on 5 nodes", "in r1 × 2, r2")
    part = ev.JobPlaced(job="j000001", generation=1, slices=(ev.SliceAssignment(domain="r1", nodes=("n1",), gpus=(0, 1)),))
    assert tell(event(part)).title == "Placed on 2 GPUs"


def life(*payloads: Payload) -> Life:
    return life_of(event(payload, 10 * seq, seq) for seq, payload in enumerate(payloads, 1))


SUBMITTED = ev.JobSubmitted(request=REQUEST, submitted_by="ada")
PLACED = ev.JobPlaced(job="j000001", generation=1, slices=(SLICE,))


def started(*nodes: str) -> ev.WorkStarted:
    return ev.WorkStarted(job="j000001", generation=1, nodes=nodes)


def test_a_job_runs_once_all_its_nodes_do() -> None:
    assert life(SUBMITTED, PLACED, started("n1")).started_at is None
    told = life(SUBMITTED, PLACED, started("n1"), started("n2"), ev.JobFinished(job="j000001", generation=1))
    assert (told.submitted_at, told.placed_at, told.started_at, told.ended_at, told.state) == (10, 20, 40, 50, JobState.FINISHED)


def test_swaps_moves_and_a_second_placement_leave_the_first_times() -> None:
    swap = ev.NodeSwapped(job="j000001", generation=2, slice=0, slot=0, old="n1", new="n3", reason="")
    move = ev.SliceMoved(job="j000001", generation=3, slice=0, old_domain="r1", assignment=SLICE, released=(), lost=(), reason="")
    again = ev.JobPlaced(job="j000001", generation=4, slices=(SLICE,))
    told = life(SUBMITTED, PLACED, started("n1", "n2"), swap, move, again, started("n1", "n2"))
    assert (told.placed_at, told.started_at, told.swaps, told.moves, told.generation) == (20, 30, 1, 1, 4)


def test_only_the_first_end_counts() -> None:
    failed = ev.JobFailed(job="j000001", generation=1, reason="out of memory")
    told = life(SUBMITTED, failed, ev.JobCancelled(job="j000001", reason="late"))
    assert (told.state, told.ended_at, told.reason) == (JobState.FAILED, 20, "out of memory")
    assert life(SUBMITTED, ev.JobChanged(job="j000001", priority=7)).priority == 7

"""What earlier versions wrote is read, folded and proven by this one."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest

from clusters.domain.dump import dump_state, load_state
from clusters.domain.evolve import evolve
from clusters.domain.invariants import check
from clusters.domain.state import ClusterState
from clusters.eventlog.log import StoredLog
from clusters.eventlog.verify import verify
from scheduling.domain.decide import decide
from tests.contract.eventlog.histories import NAMES, History

#: Of each history: how many events, and some of what must be in it, so that an empty file proves nothing.
HELD = {"engine-2": Counter(NodeSwapped=2, SliceStalled=2, JobPlaced=4, NodeFailed=19, SignalReceived=3)}


def test_each_history_is_held_to_something() -> None:
    assert set(HELD) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_history_replays_to_a_sound_state_and_its_decisions_are_proven(name: str) -> None:
    history = History(name)
    state = ClusterState()
    kinds: Counter[str] = Counter()
    for event in history.read(name):
        evolve(state, event)
        kinds[event.kind] += 1
    assert state.seq == len(history)
    assert HELD[name] <= kinds
    assert check(state) == []
    assert dump_state(load_state(dump_state(state))) == dump_state(state)
    report = verify(cast(StoredLog, history), name, decide)
    assert report.differences == []
    assert report.head == len(history)
    assert sum(tally.remade + tally.validated for tally in report.decisions.values()) > 0


def test_a_flipped_byte_in_a_history_is_found() -> None:
    history = History(NAMES[0])
    history._events[100][6] = history._events[100][6].replace("r", "s", 1)
    assert [difference.seq for difference in verify(cast(StoredLog, history), "x", decide).differences][:1] == [101]

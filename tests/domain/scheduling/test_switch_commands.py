"""What operators say of switch trays and their chips."""

from __future__ import annotations

import pytest

from clusters.domain.commands import MarkSwitch, SwitchVerb
from clusters.domain.decision import Decision, Refusal
from clusters.domain.switch_events import SwitchTrayFailed, SwitchTrayRepaired
from scheduling.domain.decide import decide
from tests.domain.clusters.logs import Log, cluster


def mark(log: Log, verb: SwitchVerb, tray: int = 3, chip: int | None = None, rack: str = "r1", reason: str = "") -> str:
    """The refusal's code, or "" and the event is in the log."""
    outcome = decide(log.state, MarkSwitch(rack=rack, tray=tray, verb=verb, by="ada", chip=chip, reason=reason), 0)
    if isinstance(outcome, Refusal):
        assert outcome.message
        return outcome.code
    assert isinstance(outcome, Decision)
    log.add(*outcome.events)
    log.sound()
    return ""


FAIL, REPAIR = SwitchVerb


def test_a_chip_then_the_rest_of_its_tray_then_both_back() -> None:
    log = cluster()
    assert mark(log, FAIL, chip=2, reason="dark") == ""
    assert mark(log, FAIL, chip=2) == "state"
    assert mark(log, FAIL) == ""
    assert mark(log, FAIL) == "state"
    assert mark(log, REPAIR, chip=1) == ""
    assert mark(log, REPAIR) == ""
    assert mark(log, REPAIR) == "state"
    said = [event.payload for event in log.events if isinstance(event.payload, SwitchTrayFailed | SwitchTrayRepaired)]
    assert said == [
        SwitchTrayFailed(rack="r1", tray=3, chip=2, reason="dark"),
        SwitchTrayFailed(rack="r1", tray=3, reason="marked failed by ada"),
        SwitchTrayRepaired(rack="r1", tray=3, chip=1, reason="marked repaired by ada"),
        SwitchTrayRepaired(rack="r1", tray=3, reason="marked repaired by ada"),
    ]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"rack": "r9"}, "unknown"), ({"tray": 10}, "unknown"), ({"tray": 0}, "unknown"), ({"chip": 3}, "invalid"), ({"chip": 0}, "invalid")],
)
def test_what_there_is_not_cannot_fail(wrong: dict[str, int | str], code: str) -> None:
    assert mark(cluster(), FAIL, **wrong) == code  # type: ignore[arg-type]

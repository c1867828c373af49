"""Commands on switch trays: what an operator says of one, or of one of its chips."""

from __future__ import annotations

from clusters.domain.commands import MarkSwitch, SwitchVerb
from clusters.domain.decision import Decision, Refusal
from clusters.domain.fabric import CHIPS_PER_TRAY
from clusters.domain.racks import Rack
from clusters.domain.state import ClusterState
from clusters.domain.switch_events import SwitchTrayFailed, SwitchTrayRepaired


def mark_switch(state: ClusterState, command: MarkSwitch) -> Decision | Refusal:
    """The event that the verb stands for, if it says something new."""
    rack = state.racks.get(command.rack)
    if rack is None:
        return Refusal(code="unknown", message=f"there is no rack {command.rack} in this cluster")
    if not 1 <= command.tray <= rack.switch_trays:
        what = f"switch trays 1 to {rack.switch_trays}" if rack.switch_trays else "no switch trays"
        return Refusal(code="unknown", message=f"there is no switch tray {command.tray} in rack {rack.name}, which has {what}")
    if command.chip is not None and not 1 <= command.chip <= CHIPS_PER_TRAY:
        expected = f"give a whole number from 1 to {CHIPS_PER_TRAY}, or none for the whole tray"
        counts: dict[str, int | str] = {"expected": expected, "field": "chip", "value": command.chip}
        return Refusal(code="invalid", message=f"chip: {expected}", counts=counts)
    if objection := _objection(rack, command):
        return Refusal(code="state", message=f"switch tray {command.tray} of {rack.name} {objection}")
    failed = command.verb is SwitchVerb.FAIL
    reason = command.reason or f"marked {'failed' if failed else 'repaired'} by {command.by}"
    event = SwitchTrayFailed if failed else SwitchTrayRepaired
    return Decision(events=(event(rack=rack.name, tray=command.tray, chip=command.chip, reason=reason),))


def _objection(rack: Rack, command: MarkSwitch) -> str:
    """Why there is nothing to say, or ""."""
    chips = range(1, CHIPS_PER_TRAY + 1) if command.chip is None else (command.chip,)
    lost = sum((command.tray, chip) in rack.lost_chips for chip in chips)
    if command.verb is SwitchVerb.FAIL:
        return "was marked failed already" if lost == len(chips) else ""
    return "" if lost else "works; there is nothing to repair"

"""Old versions of events, brought up to date when they are read. What is stored never changes.

Each function takes the JSON object of one version and returns that of the next. To change a payload: raise its VERSION, add the function
for the version left behind, and add a golden sample of the new one (tests/contract/eventlog/golden).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Fields = dict[str, Any]


def _job_submitted_1(fields: Fields) -> Fields:
    """Jobs did not yet say which arrival of a trace they play."""
    return {**fields, "arrival": ""}


def _policy_activated_1(fields: Fields) -> Fields:
    """Policies had seven settings; the others stood where nothing could change them."""
    since = {
        "queue_order": "age",
        "offender_failures": 2,
        "unreachable_limit_s": 300,
        "soft_signals": 3,
        "breaker_percent": 10,
        "incident_window_ms": 1_000,
        "defrag_wait_s": 600,
        "defrag_moves": 8,
        "defrag_cooldown_s": 3_600,
    }
    return {**fields, "policy": {**since, **fields["policy"]}}


UPCASTERS: Mapping[tuple[str, int], Callable[[Fields], Fields]] = {
    ("JobSubmitted", 1): _job_submitted_1,
    ("PolicyActivated", 1): _policy_activated_1,
}


def upcast(kind: str, version: int, current: int, fields: Fields) -> Fields:
    """Bring the fields from `version` to `current`."""
    for step in range(version, current):
        fields = UPCASTERS[kind, step](fields)
    return fields

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


def _job_submitted_2(fields: Fields) -> Fields:
    """Requests were simpler: what they did not say then has the defaults of today."""
    return {**fields, "request": _simple_request(fields["request"])}


def _arrivals_planned_1(fields: Fields) -> Fields:
    """As of JobSubmitted 2."""
    return {**fields, "items": [{**item, "request": _simple_request(item["request"])} for item in fields["items"]]}


def _simple_request(request: Fields) -> Fields:
    since = {
        "on_stall": "hold",
        "priority_class": "",
        "level": "",
        "mode": "any",
        "layers": [],
        "exclusive": False,
        "parts": [],
        "plan": None,
        "time_limit_s": None,
        "not_before": None,
        "after": [],
    }
    return {**since, **request}


def _policy_activated_2(fields: Fields) -> Fields:
    """Nothing was kept for jobs that wait; there were no classes, quotas, exempt teams, and no settings of reasons, incidents and plans."""
    since = {
        "classes": [{"name": "standard", "priority": 0, "ageing": 0}],
        "quotas": [],
        "backfill": "off",
        "reservation_depth": 4,
        "default_run_s": 86_400,
        "refusal_settle_s": 0,
        "fair_share_half_life_h": 0,
        "preemption": "off",
        "incident_memory_s": 0,
        "soft_window_s": 600,
        "recovery_quiet_s": 300,
        "flap_verdicts": 3,
        "flap_window_h": 24,
        "incident_nodes": 2,
        "incident_rack_nodes": 3,
        "defrag_may_wait": False,
        "defrag_use_spares": False,
        "defrag_grace_s": 60,
        "defrag_claim_s": 1_800,
        "defrag_jobs_per_hour": 12,
        "defrag_team_per_hour": 6,
        "defrag_seconds": 4,
        "exempt": [],
    }
    return {**fields, "policy": {**since, **fields["policy"]}}


def _policy_activated_3(fields: Fields) -> Fields:
    """A repaired node took work at once, and lost nodes were replaced without limit."""
    return {**fields, "policy": {**fields["policy"], "check_repaired": False, "recoveries_per_hour": 0}}


def _node_recovered_1(fields: Fields) -> Fields:
    """A recovery took back all four flags of its source."""
    return {**fields, "flags": []}


def _rack_registered_1(fields: Fields) -> Fields:
    """Nobody said how fast the network is."""
    return {**fields, "fabric_gbps": None}


UPCASTERS: Mapping[tuple[str, int], Callable[[Fields], Fields]] = {
    ("JobSubmitted", 1): _job_submitted_1,
    ("JobSubmitted", 2): _job_submitted_2,
    ("ArrivalsPlanned", 1): _arrivals_planned_1,
    ("NodeRecovered", 1): _node_recovered_1,
    ("PolicyActivated", 1): _policy_activated_1,
    ("PolicyActivated", 2): _policy_activated_2,
    ("PolicyActivated", 3): _policy_activated_3,
    ("RackRegistered", 1): _rack_registered_1,
}


def upcast(kind: str, version: int, current: int, fields: Fields) -> Fields:
    """Bring the fields from `version` to `current`."""
    for step in range(version, current):
        fields = UPCASTERS[kind, step](fields)
    return fields

"""NVSentinel's health events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import nvsentinel
from tests.support.shared import shared_path


def sample(name: str) -> Any:
    return json.loads(shared_path("data", "formats", "nvsentinel", name).read_text(encoding="utf-8"))


def event(**fields: Any) -> dict[str, Any]:
    return {"agent": "a", "checkName": "GpuMemWatch", "isFatal": True, "isHealthy": False, "nodeName": "n1", **fields}


def test_a_list_of_events() -> None:
    link, bus, heat, well = nvsentinel.parse(sample("health_events_constructed.json"), "NVIDIA GB200").signals
    assert (link.node, link.code, link.kind, link.scope) == ("rack-a01-ct07", "xid:149", SignalKind.FATAL, SignalScope.SHARED)
    assert (link.component, link.action) == ("gpu GPU-00000002-0000-0000-0000-000000000002", "COMPONENT_RESET")
    assert (bus.code, bus.kind, bus.scope, bus.component) == ("xid:79", SignalKind.FATAL, SignalScope.NODE, "gpu 0008:06:00")
    assert (heat.code, heat.kind, heat.action) == ("dcgm:DCGM_FR_CLOCK_THROTTLE_THERMAL", SignalKind.SOFT, "")
    assert well.kind is SignalKind.RECOVERED
    assert (well.node, well.check, well.component) == (link.node, link.check, link.component), "it takes back the first"
    assert [signal.id for signal in (link, bus, heat, well)] == ["he-0001", "he-0002", "he-0003", "he-0004"]


def test_a_cloud_event_with_numbers_for_actions() -> None:
    (signal,) = nvsentinel.parse(sample("cloudevent_from_docs.json")).signals
    assert (signal.node, signal.code, signal.kind, signal.action) == ("gpu-node-01", "xid:79", SignalKind.FATAL, "COMPONENT_RESET")
    assert signal.occurred_at is not None


def test_the_resource_that_it_keeps_in_kubernetes() -> None:
    resource = {"kind": "HealthEventResource", "spec": event(errorCode=["XID_79"]), "status": {}}
    for document in (resource, {"items": [resource]}, [resource]):
        (signal,) = nvsentinel.parse(document).signals
        assert signal.code == "xid:79"


@pytest.mark.parametrize("strategy", ["STORE_ONLY", "STORE_AND_ANALYSE", 2, 3])
def test_what_it_only_stores_says_nothing_against_the_node(strategy: object) -> None:
    assert nvsentinel.parse(event(processingStrategy=strategy)).signals[0].kind is SignalKind.INFO


def test_an_event_of_a_switch_is_of_the_fabric() -> None:
    (signal,) = nvsentinel.parse(event(checkName="SysLogsSXIDError", errorCode=["20034"])).signals
    assert (signal.code, signal.scope) == ("sxid:20034", SignalScope.SHARED)
    assert signal.check.startswith("switch")
    (well,) = nvsentinel.parse(event(checkName="SysLogsSXIDError", isHealthy=True)).signals
    assert well.check == signal.check


@pytest.mark.parametrize("broken", [event(isHealthy="no"), event(nodeName=""), event(nodeName="a b")])
def test_an_event_that_cannot_be_is_told_with_its_place(broken: dict[str, Any]) -> None:
    parsed = nvsentinel.parse({"events": [event(), broken]})
    assert len(parsed.signals) == 1
    assert parsed.problems[0].position == "event 2"

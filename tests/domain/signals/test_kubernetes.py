"""Nodes, events and ComputeDomains of Kubernetes."""

from __future__ import annotations

import json
from typing import Any

import yaml

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import kubernetes
from clusters.signals.model import Signal
from tests.support.shared import shared_path


def bad(document: object) -> dict[tuple[str, str], Signal]:
    parsed = kubernetes.parse(document)
    assert parsed.problems == ()
    return {(signal.node, signal.check): signal for signal in parsed.signals if signal.kind is not SignalKind.RECOVERED}


def node(*conditions: dict[str, str], **spec: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True"}
    return {"kind": "Node", "metadata": {"name": "n1"}, "spec": spec, "status": {"conditions": [ready, *conditions]}}


def test_two_racks_one_quarantined_one_cordoned_one_out_of_reach() -> None:
    nodes = json.loads(shared_path("data", "formats", "k8s-nodes", "gb200_nodes_2racks_constructed.json").read_text(encoding="utf-8"))
    found = bad(nodes)
    assert found["rack-a01-ct07", "cordon"].kind is SignalKind.QUARANTINED
    xid = found["rack-a01-ct07", "condition SysLogsXIDError"]
    assert (xid.code, xid.kind, xid.scope) == ("xid:149", SignalKind.FATAL, SignalScope.SHARED)
    assert found["rack-a02-ct11", "readiness"].kind is SignalKind.UNREACHABLE, "unreachable is not dead"
    others = {name for name, _ in found} - {"rack-a01-ct07", "rack-a02-ct11"}
    assert all(signal.kind in (SignalKind.DRAINING, SignalKind.QUARANTINED) for key, signal in found.items() if key[0] in others)


def test_every_check_of_a_node_that_is_well_is_taken_back() -> None:
    signals = kubernetes.parse(node({"type": "KernelDeadlock", "status": "False"})).signals
    assert {signal.check for signal in signals} == {"readiness", "out of service", "cordon", "condition KernelDeadlock"}
    assert {signal.kind for signal in signals} == {SignalKind.RECOVERED}


def test_only_the_condition_that_is_not_healthy_by_name_is_fatal() -> None:
    """The trap of NVSentinel: a condition that is True is fatal where its reason is `<CheckName>IsNotHealthy`."""
    fatal = {"type": "GpuMemWatch", "status": "True", "reason": "GpuMemWatchIsNotHealthy", "message": "[DCGM_FR_FAULTY_MEMORY] x"}
    other = {"type": "GpuMemWatch", "status": "True", "reason": "SomethingElse"}
    unknown = {"type": "GpuMemWatch", "status": "Unknown", "reason": "GpuMemWatchIsNotHealthy"}
    kinds = [bad(node(condition))["n1", "condition GpuMemWatch"].kind for condition in (fatal, other, unknown)]
    assert kinds == [SignalKind.FATAL, SignalKind.SOFT, SignalKind.SOFT]


def test_the_conditions_of_the_documentation() -> None:
    text = shared_path("data", "formats", "nvsentinel", "node_conditions_from_docs.yaml").read_text(encoding="utf-8")
    found = bad(list(yaml.safe_load_all(text)))
    assert found["gpu-node-01", "cordon"].kind is SignalKind.QUARANTINED
    assert found["gpu-node-01", "readiness"].kind is SignalKind.SOFT
    assert found["gpu-node-02", "condition GpuThermalWatch"].code == "dcgm:DCGM_FR_CLOCK_THROTTLE_THERMAL"
    assert [name for name, check in found if name == "gpu-node-03"] == []


def test_what_is_not_fatal_is_an_event() -> None:
    event = {
        "kind": "Event",
        "metadata": {"uid": "u1"},
        "type": "GpuThermalWatch",
        "reason": "GpuThermalWatchIsNotHealthy",
        "message": "[DCGM_FR_CLOCK_THROTTLE_THERMAL] hot",
        "involvedObject": {"kind": "Node", "name": "n1"},
        "lastTimestamp": "2026-11-20T08:00:00Z",
    }
    (signal,) = kubernetes.parse(event).signals
    assert (signal.kind, signal.lasting, signal.node) == (SignalKind.SOFT, False, "n1")
    assert signal.id
    assert kubernetes.parse({**event, "reason": "NodeReady"}).signals[0].kind is SignalKind.INFO
    assert kubernetes.parse({**event, "involvedObject": {"kind": "Pod", "name": "p"}}).problems


def test_imex_is_a_condition_of_the_node() -> None:
    assert bad(node({"type": "ImexReady", "status": "False", "reason": "DaemonDown"}))["n1", "imex"].kind is SignalKind.SOFT
    signals = kubernetes.parse(node({"type": "ImexReady", "status": "True"})).signals
    assert [signal.kind for signal in signals if signal.check == "imex"] == [SignalKind.RECOVERED]


def test_a_compute_domain_tells_imex_of_each_node() -> None:
    text = shared_path("data", "formats", "computedomain", "computedomain_status_constructed.yaml").read_text(encoding="utf-8")
    document = yaml.safe_load(text)
    assert {signal.kind for signal in kubernetes.parse(document).signals} == {SignalKind.RECOVERED}
    document["status"]["nodes"][1]["status"] = "NotReady"
    assert bad(document)["rack-a01-ct02", "imex"].lasting


def test_a_watch_and_a_list_say_the_same_as_a_node() -> None:
    single = node(unschedulable=True)
    wanted = kubernetes.parse(single).signals
    for document in ([single], {"kind": "NodeList", "items": [single]}, {"type": "MODIFIED", "object": single}):
        assert kubernetes.parse(document).signals == wanted
    assert bad(single)["n1", "cordon"].kind is SignalKind.DRAINING


def test_other_objects_are_told() -> None:
    parsed = kubernetes.parse({"kind": "List", "items": [{"kind": "Pod"}, {"kind": "Node", "metadata": {"name": "n1"}}, 7]})
    assert [problem.position for problem in parsed.problems] == ["item 1", "item 2", "item 3"]

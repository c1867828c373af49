"""Webhooks of Alertmanager."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import alertmanager
from tests.support.shared import shared_path


def sample(name: str) -> Any:
    return json.loads(shared_path("data", "formats", "alertmanager", f"webhook_v4_{name}_constructed.json").read_text(encoding="utf-8"))


def body(**labels: str) -> dict[str, Any]:
    return {"version": "4", "alerts": [{"status": "firing", "labels": labels}]}


def test_alerts_about_xids_mean_what_the_catalogue_says() -> None:
    first, second = alertmanager.parse(sample("firing")).signals
    assert (first.node, first.code, first.kind, first.scope, first.component) == (
        "rack-a01-ct07",
        "xid:149",
        SignalKind.SOFT,
        SignalScope.SHARED,
        "gpu 2",
    )
    assert (second.node, second.code, second.kind) == ("rack-a02-ct11", "xid:79", SignalKind.FATAL)
    assert first.occurred_at == 1_795_161_492_123_000
    assert first.lasting


def test_what_is_resolved_takes_back_what_fired_at_the_time_it_ended() -> None:
    fired, (resolved,) = alertmanager.parse(sample("firing")).signals[0], alertmanager.parse(sample("resolved")).signals
    assert resolved.kind is SignalKind.RECOVERED
    assert (resolved.node, resolved.check, resolved.component) == (fired.node, fired.check, fired.component)
    assert resolved.occurred_at == 1_795_169_400_000_000
    assert resolved.id != fired.id


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ({"alertname": "NodeHot", "severity": "critical"}, SignalKind.SOFT),
        ({"alertname": "NodeHot", "severity": "info"}, SignalKind.INFO),
        ({"alertname": "NodeHot"}, SignalKind.INFO),
        ({"alertname": "NodeGone", "severity": "critical", "slicekeeper_kind": "fatal"}, SignalKind.FATAL),
        ({"alertname": "NodeGone", "severity": "critical", "slicekeeper_kind": "recovered"}, SignalKind.SOFT),
    ],
)
def test_how_bad_an_alert_is_follows_from_its_labels(labels: dict[str, str], kind: SignalKind) -> None:
    (signal,) = alertmanager.parse(body(node="n1", **labels)).signals
    assert signal.kind is kind


def test_the_scope_can_be_told_and_fabrics_are_shared() -> None:
    assert alertmanager.parse(body(node="n1", alertname="NVLinkErrors")).signals[0].scope is SignalScope.SHARED
    assert alertmanager.parse(body(node="n1", alertname="NVSwitchDown")).signals[0].check.startswith("switch")
    assert alertmanager.parse(body(node="n1", alertname="X", slicekeeper_scope="shared")).signals[0].scope is SignalScope.SHARED


def test_the_node_is_found_in_whatever_label_names_it() -> None:
    assert alertmanager.parse(body(alertname="X", instance="n1:9400")).signals[0].node == "n1"
    assert alertmanager.parse(body(alertname="X", instance="10.0.0.1:9400", Hostname="n2")).signals[0].node == "n2"


def test_an_alert_without_a_node_is_told_and_the_others_are_taken() -> None:
    document = body(node="n1", alertname="X")
    document["alerts"].append({"status": "firing", "labels": {"alertname": "EtcdDown"}})
    parsed = alertmanager.parse(document)
    assert len(parsed.signals) == 1
    assert parsed.problems[0].position == "alert 2"


def test_what_alertmanager_left_out_is_told() -> None:
    assert "7 alerts" in alertmanager.parse({**body(node="n1"), "truncatedAlerts": 7}).problems[0].message


def test_the_answer_of_the_api_is_a_list_of_alerts() -> None:
    alerts = [
        {"status": {"state": "active"}, "labels": {"alertname": "GPUXid", "node": "n1", "xid": "79"}, "startsAt": "2026-11-20T08:00:00Z"}
    ]
    (signal,) = alertmanager.parse(alerts).signals
    assert signal.kind is SignalKind.FATAL

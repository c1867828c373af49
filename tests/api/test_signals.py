"""Signals pushed by API: plain, and as others tell them; by programs that may do nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain.signal_events import SignalReceived
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from clusters.signals.models import SignalSource
from clusters.signals.polling import source_add
from frontend.accounts.roles import Role
from frontend.accounts.tokens import token_create
from frontend.api.parsers import ManyJSONParser
from tests.api.calls import Answer, Api
from tests.support.lab import NAME
from tests.support.people import make_user

pytestmark = pytest.mark.django_db

PATH = f"clusters/{NAME}/signals/"
XID = {"node": "r1-n01", "code": "xid:79", "id": "b/1"}
WEBHOOK = {"version": "4", "alerts": [{"status": "firing", "labels": {"alertname": "GPUXid", "node": "r1-n02", "xid": "79"}}]}


@pytest.fixture
def agent(cluster: str) -> Api:
    """A program that may send signals."""
    token = token_create(user=make_user("ops", Role.OPERATOR), label="agent", role=Role.SIGNALS)[1]
    return Api(Client(headers={"authorization": f"Bearer {token}"}))


def push(api: Api, *signals: dict[str, Any], **fields: str) -> Answer:
    return api.post(PATH, {"signals": list(signals), **fields})


def events() -> list[SignalReceived]:
    return [event.payload for event in default_log().read(NAME) if isinstance(event.payload, SignalReceived)]


def test_a_signal_comes_in_once_and_means_what_the_catalogue_says(agent: Api) -> None:
    first, again = push(agent, XID, feed="node-agent"), push(agent, XID, feed="node-agent")
    assert first.status == again.status == 200
    unknown = {"unknown_nodes": 0, "nodes_not_known": [], "unknown_codes": 0, "codes_not_known": []}
    counts = {"received": 1, "new": 1, "repeated": 0, "unchanged": 0, **unknown, "problems": []}
    assert first.body == counts
    assert again.body == {**counts, "new": 0, "repeated": 1}
    (event,) = events()
    assert (event.kind, event.scope, event.action, event.check) == ("fatal", "node", "RESTART_BM", "xid:79")
    (heard,) = live(NAME).catch_up().nodes["r1-n01"].signals
    assert heard.source == "signal:ops/node-agent"


def test_what_the_sender_says_goes_before_the_catalogue(agent: Api) -> None:
    said = {"kind": "soft", "scope": "shared", "check": "kernel", "component": "gpu 1", "text": "x", "action": "LOOK", "lasting": True}
    told = {"evidence": ["a", "b"], "occurred_at": "2026-11-20T07:58:12.5+01:00"}
    assert push(agent, {**XID, **said, **told}).body["new"] == 1
    (event,) = events()
    assert {field: getattr(event, field) for field in said} == said
    assert event.evidence == ("a", "b")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"node": "a b"}, "node"),
        ({"node": ""}, "node"),
        ({"code": None}, "code"),
        ({"kind": "bad"}, "kind"),
        ({"occurred_at": "yesterday"}, "occurred_at"),
        ({"occurred_at": "2026-13-45T00:00:00Z"}, "occurred_at"),
        ({"seq": -1}, "seq"),
        ({"evidence": ["x"] * 9}, "evidence"),
        ({"severity": "high"}, "severity"),
    ],
)
def test_one_that_is_wrong_is_named_by_its_place_and_nothing_is_taken(agent: Api, wrong: dict[str, Any], field: str) -> None:
    refused = push(agent, XID, {**XID, "id": "b/2", **wrong})
    assert (refused.status, refused.body["code"]) == (422, "invalid")
    assert refused.body["errors"][0]["field"] == f"signals[1].{field}"
    assert events() == []


def test_a_batch_has_limits(agent: Api) -> None:
    assert push(agent).status == 422
    assert push(agent, *[XID] * 1_001).status == 422
    many = [{**XID, "id": f"b/{number}", "component": f"gpu {number}"} for number in range(1_000)]
    assert push(agent, *many).body["new"] == 1_000
    assert agent.send(PATH, b'{"signals": "' + b"x" * ManyJSONParser.most_bytes + b'"}').status == 413


def test_a_feed_numbers_all_it_says_or_nothing(agent: Api) -> None:
    refused = push(agent, {**XID, "seq": 1}, {**XID, "id": "b/2"})
    assert refused.body["errors"][0]["field"] == "signals[1].seq"
    assert push(agent, {**XID, "seq": 1}, feed="n").status == 200
    assert push(agent, {**XID, "id": "b/2", "component": "gpu 2"}, feed="n").body["code"] == "source-sequence"


def test_an_id_with_other_content_is_a_conflict(agent: Api) -> None:
    push(agent, XID)
    assert push(agent, {**XID, "code": "xid:48"}).body["code"] == "source-conflict"


def test_nobody_can_pass_for_another_source(agent: Api) -> None:
    push(agent, XID, feed="user/ada")
    assert {event.source for event in default_log().read(NAME) if event.kind == "SignalReceived"} == {"signal:ops/user/ada"}


def test_formats_of_others_come_in_as_they_are(agent: Api) -> None:
    node = {"kind": "Node", "metadata": {"name": "r1-n03"}, "spec": {"unschedulable": True}, "status": {"conditions": []}}
    event = {"agent": "a", "checkName": "SysLogsXIDError", "errorCode": ["79"], "isFatal": True, "isHealthy": False, "nodeName": "r1-n04"}
    slurm = {"nodes": [{"name": "r1-n05", "state": ["DOWN"]}]}
    for name, document in (("alertmanager", WEBHOOK), ("kubernetes", node), ("nvsentinel", event), ("slurm", slurm)):
        answer = agent.post(f"{PATH}{name}/", document)
        assert (answer.status, answer.body["problems"]) == (200, []), name
        assert answer.body["new"] >= 1
    assert {event.node for event in events()} == {"r1-n02", "r1-n03", "r1-n04", "r1-n05"}


def test_what_is_no_signal_in_a_document_is_told_and_the_rest_is_taken(agent: Api) -> None:
    mixed = {"version": "4", "alerts": [*WEBHOOK["alerts"], {"labels": {"alertname": "EtcdDown"}}]}
    answer = agent.post(f"{PATH}alertmanager/?feed=west", mixed)
    assert (answer.body["new"], answer.body["problems"][0]["position"]) == (1, "alert 2")
    (heard,) = live(NAME).catch_up().nodes["r1-n02"].signals
    assert heard.source == "signal:ops/west"
    refused = agent.post(f"{PATH}alertmanager/", {"alerts": [{"labels": {"alertname": "EtcdDown"}}]})
    assert (refused.status, refused.body["errors"][0]["field"]) == (422, "alert 1")


def test_a_program_that_sends_signals_may_do_nothing_else(agent: Api) -> None:
    assert agent.get(f"clusters/{NAME}/").status == 403
    assert agent.get("clusters/").status == 403
    assert agent.post(f"clusters/{NAME}/nodes/r1-n01/fail/").status == 403
    assert push(agent, XID).status == 200


def test_who_may_not_act_on_nodes_may_not_report_them_either(user: Api, admin: Api, cluster: str) -> None:
    assert push(user, XID).status == 403
    assert push(admin, XID).status == 200


def test_a_token_for_signals_ends_with_its_owners_rights(agent: Api) -> None:
    from django.contrib.auth.models import User

    from frontend.accounts.roles import grant

    grant(User.objects.get(username="ops"), Role.RESEARCHER)
    assert push(agent, XID).status == 403


def test_a_node_tells_what_it_remembers_and_what_of_it_stands(agent: Api, user: Api) -> None:
    push(agent, XID, {**XID, "code": "hot", "id": "b/2", "lasting": True}, {**XID, "code": "hot", "id": "b/3", "kind": "recovered"})
    heard = user.get(f"clusters/{NAME}/nodes/r1-n01/signals/").body["items"]
    assert [(signal["code"], signal["kind"], signal["stands"]) for signal in heard] == [
        ("hot", "recovered", False),
        ("hot", "soft", False),
        ("xid:79", "fatal", True),
    ]
    assert user.get(f"clusters/{NAME}/nodes/nobody/signals/").status == 404


def test_sources_are_listed_without_what_is_asked_of_them(user: Api, cluster: str) -> None:
    assert user.get(f"{PATH}sources/").body == {"items": []}
    page = f"/clusters/{NAME}/signals/"
    assert "No signals are fetched" in user.client.get(page).content.decode()
    source = source_add(cluster=NAME, name="west", kind="dcgm", url="http://h:9090/federate?match[]=secret")
    SignalSource.objects.filter(pk=source.pk).update(error="it answered 502 <b>", asked_at=1)
    (listed,) = user.get(f"{PATH}sources/").body["items"]
    assert (listed["address"], listed["error"]) == ("http://h:9090/federate", "it answered 502 <b>")
    shown = user.client.get(page).content.decode()
    assert "it answered 502 &lt;b&gt;" in shown
    assert "secret" not in shown
    assert user.get("clusters/nowhere/signals/sources/").status == 404


def test_a_code_that_nobody_knows_is_taken_as_soft_and_said_to_be(agent: Api, user: Api) -> None:
    page = f"/clusters/{NAME}/signals/"
    assert "taken as soft" not in user.client.get(page).content.decode()
    fan, new = {"node": "r1-n01", "code": "fan <7>", "text": "slow"}, {"node": "r1-n02", "code": "xid:999"}
    meant = {"node": "r1-n02", "code": "psu", "kind": "soft"}
    answer = push(agent, fan, new, {**new, "node": "r1-n03"}, meant, {**new, "node": "nobody"}, XID, feed="shelf").body
    assert (answer["unknown_codes"], answer["codes_not_known"]) == (4, ["fan <7>", "xid:999"])
    assert [event.text for event in events()][:2] == ["unknown code, taken as soft: slow", "unknown code, taken as soft"]
    assert {event.kind for event in events()} == {"soft", "fatal"}
    (heard,) = user.get(f"clusters/{NAME}/nodes/r1-n01/signals/").body["items"][1:]
    assert (heard["code"], heard["unknown_code"]) == ("fan <7>", True)
    assert [signal["unknown_code"] for signal in user.get(f"clusters/{NAME}/nodes/r1-n02/signals/").body["items"]] == [False, True]
    shown = user.client.get(page).content.decode()
    assert "Unknown codes, taken as soft" in shown
    assert "fan &lt;7&gt;" in shown
    assert "signal:ops/shelf" in shown
    assert "psu" not in shown


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(body=ANYTHING, path=st.sampled_from(["", "alertmanager/", "kubernetes/", "nvsentinel/", "slurm/"]))
def test_no_body_is_answered_with_a_500(agent: Api, body: Any, path: str) -> None:
    answer = agent.send(f"{PATH}{path}", json.dumps(body).encode("utf-8", "surrogatepass"))
    assert answer.status < 500, answer.body
    assert events() == []

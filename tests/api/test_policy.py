"""The policy by API: read, change against a version, look before, history."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.domain.policy import Policy
from clusters.domain.settings import SETTINGS
from clusters.domain.teams import TABLES, Quota
from clusters.eventlog.live import live
from scheduling.services import run_pass
from tests.api.calls import BASE, Answer, Api, read

pytestmark = pytest.mark.django_db

PATH = "clusters/lab/policy/"


def put(api: Api, body: Any, query: str = "", **headers: str) -> Answer:
    sent = json.dumps(body).encode("utf-8", "surrogatepass")
    return read(api.client.put(f"{BASE}{PATH}{query}", sent, content_type="application/json", headers=headers))


def change(**values: Any) -> dict[str, Any]:
    return {"policy": values, "reason": "smaller slices", "expected_version": 1}


def in_force() -> tuple[int, Policy]:
    state = live("lab").catch_up()
    return state.policy_version, state.policy


def test_the_policy_tells_its_version_and_what_each_setting_is(user: Api, cluster: str) -> None:
    answer = user.get(PATH)
    assert (answer.body["version"], answer.headers["ETag"]) == (1, '"1"')
    assert [setting["name"] for setting in answer.body["settings"]] == [setting.name for setting in SETTINGS]
    assert [table["name"] for table in answer.body["tables"]] == [table.name for table in TABLES]
    described = [*answer.body["settings"], *answer.body["tables"]]
    assert all(answer.body["policy"][thing["name"]] == thing["default"] for thing in described)


def test_settings_that_are_left_out_stay_as_they_are(admin: Api, cluster: str) -> None:
    first = put(admin, change(slice_size=8, spares_scope="all"))
    assert (first.status, first.body["version"], first.headers["ETag"]) == (200, 2, '"2"')
    second = put(admin, {"policy": {"slice_size": None}, "reason": "back"}, if_match=first.headers["ETag"])
    assert (second.status, second.body["version"]) == (200, 3)
    assert second.body["policy"] == {**user_values(Policy()), "spares_scope": "all"}
    assert in_force()[0] == 3


def test_a_table_is_sent_whole_and_tells_its_change_in_words(admin: Api, cluster: str) -> None:
    rows = [{"team": "vision", "gpus": 64, "borrow": 8}, {"team": "*", "gpus": 16}]
    told = put(admin, change(quotas=rows))
    assert (told.status, told.body["policy"]["quotas"]) == (200, [rows[0], {**rows[1], "borrow": None}])
    words = "vision gpus 64 borrows at most 8; * gpus 16 borrows at most all that is left"
    assert told.body["forecast"]["changes"] == [{"name": "quotas", "old": "none", "new": words}]
    assert in_force() == (2, Policy(quotas=(Quota(team="vision", gpus=64, borrow=8), Quota(team="*", gpus=16))))


def test_teams_are_told_with_what_they_hold_of_their_quotas(admin: Api, user: Api, cluster: str) -> None:
    put(admin, change(quotas=[{"team": "vision", "gpus": 32, "borrow": 48}, {"team": "idle", "gpus": 500}], fair_share_half_life_h=24))
    for nodes, team in ((16, "vision"), (2, ""), (16, "vision")):
        policy_job(user, nodes, team)
    run_pass("lab")
    teams = user.get("clusters/lab/teams/").body["items"]
    assert [(t["team"], t["gpus"], t["quota"], t["borrowed"], t["may_borrow"], t["waiting"]) for t in teams] == [
        ("vision", 64, 32, 32, 48, 1),
        ("", 8, None, 0, None, 0),
        ("idle", 0, 500, 0, None, 0),
    ]
    assert all(0 <= t["share"] <= 1 for t in teams)


def policy_job(api: Api, nodes: int, team: str) -> None:
    assert api.post("clusters/lab/jobs/", {"name": "work", "kind": "training", "nodes": nodes, "team": team}).status == 201


def test_a_dry_run_is_refused_as_the_change_would_be(admin: Api, cluster: str) -> None:
    assert put(admin, {**change(slice_size=8), "expected_version": 7}, "?dry_run=true").body["code"] == "state"
    assert put(admin, change(), "?dry_run=true").body["detail"] == "nothing would change: policy 1 says the same"


def user_values(policy: Policy) -> dict[str, Any]:
    tables = {table.name: [asdict(row) for row in getattr(policy, table.name)] for table in TABLES}
    return {setting.name: getattr(policy, setting.name) for setting in SETTINGS} | tables


def test_a_dry_run_tells_what_would_change_and_changes_nothing(admin: Api, cluster: str) -> None:
    told = put(admin, change(slice_size=8), "?dry_run=true").body
    assert (told["dry_run"], told["version"], told["policy"]["slice_size"]) == (True, 1, 8)
    assert told["forecast"]["changes"] == [{"name": "slice_size", "old": None, "new": 8}]
    (event,) = told["events"]
    assert (event["kind"], event["payload"]["version"], event["payload"]["by"]) == ("PolicyActivated", 2, "ada")
    assert (told["forecast"]["before"]["idle_slices"], told["forecast"]["after"]["idle_slices"]) == (4, 8)
    assert in_force() == (1, Policy())


def test_of_two_changes_to_one_version_the_second_is_refused(admin: Api, cluster: str) -> None:
    assert put(admin, change(slice_size=8)).status == 200
    refused = put(admin, change(slice_size=9))
    assert (refused.status, refused.body["code"]) == (409, "state")
    assert put(admin, {"policy": {"slice_size": 9}, "reason": "x"}, if_match='"1"').status == 409
    assert put(admin, {"policy": {"slice_size": 8}, "reason": "x"}, if_match='"2"').body["code"] == "state"
    assert in_force() == (2, Policy(slice_size=8))


def test_a_change_sent_again_under_its_key_is_made_once(admin: Api, cluster: str) -> None:
    first = put(admin, change(slice_size=8), idempotency_key="mine")
    put(admin, {**change(lending=True), "expected_version": 2})
    again = put(admin, change(slice_size=8), idempotency_key="mine")
    assert [(answer.status, answer.body["version"]) for answer in (first, again)] == [(200, 2)] * 2
    assert put(admin, change(slice_size=9), idempotency_key="mine").body["code"] == "source-conflict"
    assert in_force() == (3, Policy(slice_size=8, lending=True))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (change(slice_size=0), "policy.slice_size"),
        (change(slice_size="8"), "policy.slice_size"),
        (change(target_spares=None), "policy.target_spares"),
        (change(colour="red"), "policy.colour"),
        (change(spares_scope="some"), "policy.spares_scope"),
        (change(lending=1), "policy.lending"),
        (change(min_spares=3), "min_spares"),
        (change(classes=[]), "policy.classes"),
        (change(classes={}), "policy.classes"),
        (change(classes=[{"name": "a", "priority": 0}]), "policy.classes[0].ageing"),
        (change(classes=[{"name": "a", "priority": "0", "ageing": 0}]), "policy.classes[0].priority"),
        (change(quotas=[{"team": "a", "gpus": 1, "colour": 1}]), "policy.quotas[0].colour"),
        (change(quotas=[{"team": "a", "gpus": 1}, {"team": "a", "gpus": 1}]), "quotas[1].team"),
        ({**change(slice_size=8), "reason": ""}, "reason"),
        ({**change(slice_size=8), "reason": "  "}, "reason"),
        ({**change(slice_size=8), "by": "eve"}, "by"),
        ({"policy": [], "reason": "x", "expected_version": 1}, "policy"),
        ({"policy": {}, "reason": "x"}, "expected_version"),
        ({"reason": "x", "expected_version": 1}, "policy"),
    ],
)
def test_what_is_wrong_is_named(admin: Api, cluster: str, body: Any, field: str) -> None:
    refused = put(admin, body)
    assert (refused.status, [error["field"] for error in refused.body["errors"]]) == (422, [field])
    assert in_force()[0] == 1


@pytest.mark.parametrize("etag", ["1", '"x"', "*", 'W/"1"', '"2"'])
def test_a_version_that_is_none_or_another_is_refused(admin: Api, cluster: str, etag: str) -> None:
    assert put(admin, change(slice_size=8), if_match=etag).status == 422
    assert in_force()[0] == 1


def test_only_administrators_change_it(user: Api, cluster: str) -> None:
    assert put(user, change(slice_size=8)).status == 403
    assert put(user, change(slice_size=8), "?dry_run=true").status == 403


def test_the_history_is_told_the_newest_first(admin: Api, cluster: str) -> None:
    put(admin, change(slice_size=8))
    items = admin.get(f"{PATH}history/").body["items"]
    assert [(item["version"], item["by"], item["reason"]) for item in items] == [
        (2, "ada", "smaller slices"),
        (1, "test", "defaults of a new cluster"),
    ]
    assert (items[0]["changes"], items[1]["changes"]) == ([{"name": "slice_size", "old": None, "new": 8}], [])
    assert len(admin.get(f"{PATH}history/?limit=1").body["items"]) == 1


NAMES = st.sampled_from(
    [*(setting.name for setting in SETTINGS), *(table.name for table in TABLES), "policy", "reason", "expected_version"]
)
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.lists(st.integers(), max_size=2)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policy=VALUES | st.dictionaries(NAMES, VALUES, max_size=4), reason=VALUES, expected=VALUES)
def test_no_change_is_answered_with_a_500(admin: Api, cluster: str, policy: Any, reason: Any, expected: Any) -> None:
    answer = put(admin, {"policy": policy, "reason": reason, "expected_version": expected})
    assert answer.status in (200, 400, 409, 422), answer.body

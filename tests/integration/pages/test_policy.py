"""The page of the policy: a change in two steps, what it does to work that runs and work that comes, and its history."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.test import Client

from clusters.domain.policy import Policy
from clusters.domain.setting import QueueOrder, Setting
from clusters.domain.settings import SETTINGS
from clusters.domain.teams import TABLES, Quota, Table
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from clusters.eventlog.verify import verify
from frontend.pages.policytables import sent_cells
from scheduling.domain.decide import decide
from scheduling.services import policy_change, run_pass
from tests.integration.pages.test_submit import fields as job_fields
from tests.support.lab import NAME, start

pytestmark = pytest.mark.django_db

PATH = f"/clusters/{NAME}/policy/"


def fields(policy: Policy | None = None, /, **changed: str) -> dict[str, str]:
    """What a browser sends: switches that are off are left out."""
    values = {setting.name: getattr(policy or Policy(), setting.name) for setting in SETTINGS}
    sent = {name: "" if value is None else "on" if value is True else str(value) for name, value in values.items() if value is not False}
    sent |= dict(sent_cells(policy or Policy()))
    return {**sent, "expected": str(live(NAME).catch_up().policy_version), **changed}


def policy_now() -> tuple[int, Policy]:
    state = live(NAME).catch_up()
    return state.policy_version, state.policy


def submitted(browser: Client, **changed: str) -> str:
    answer: Any = browser.post(f"/clusters/{NAME}/jobs/new/", job_fields(**changed))
    return str(answer.headers["Location"]).rstrip("/").rpartition("/")[2]


def sizes(job: str) -> list[int]:
    return [len(part.nodes) for part in live(NAME).catch_up().jobs[job].slices]


def test_a_change_through_the_page_changes_the_next_placement_and_not_what_runs(admin: Client, cluster: str) -> None:
    """Slices of 16 become slices of 8, and the log still proves itself."""
    old = submitted(admin, nodes="32")
    run_pass(NAME)
    start(old)

    shown = admin.post(PATH, fields(slice_size="8"))
    assert shown.status_code == 200
    assert policy_now() == (1, Policy())  # looking changes nothing

    done = admin.post(PATH, fields(slice_size="8", reason="smaller slices", activate="1"))
    assert (done.status_code, done.headers["Location"]) == (302, PATH)
    assert policy_now() == (2, Policy(slice_size=8))

    new = submitted(admin, nodes="32")
    run_pass(NAME)
    assert (sizes(old), sizes(new)) == ([16, 16], [8, 8, 8, 8])
    report = verify(default_log(), NAME, decide)
    assert report.differences == []
    assert report.decisions["ChangePolicy"].remade == 1
    versions = [record.policy_version for _, _, record in default_log().decisions(NAME)]
    assert versions == [1, 1, 1, 2, 2]  # what each decision used is recorded with it


def test_the_first_step_shows_what_would_change_in_policy_and_cluster(admin: Client, cluster: str) -> None:
    page = admin.post(PATH, fields(slice_size="6", lending="on")).content.decode()
    assert "What would change" in page
    rows = {row.split("</th>")[0].rpartition(">")[2].strip(): row for row in page.split("<tr>")}
    told = {label: row.replace("<strong>", "").replace("</strong>", "").split('class="num">')[1:] for label, row in rows.items()}
    assert [cell.split("<")[0] for cell in told["Whole slices free"]] == ["4", "12"]
    assert [cell.split("<")[0] for cell in told["Free nodes that make no slice"]] == ["8", "0"]


def test_a_change_that_would_strand_waiting_jobs_warns(admin: Client, cluster: str) -> None:
    submitted(admin, nodes="64")
    page = admin.post(PATH, fields(target_spares="4", min_spares="4")).content.decode()
    assert "1 waiting job could then never start" in page


def test_the_first_step_counts_whom_new_quotas_would_hold(admin: Client, cluster: str) -> None:
    submitted(admin, nodes="8", team="vision")
    run_pass(NAME)
    submitted(admin, nodes="60", team="vision")
    sent = fields(**{"quotas-0-team": "vision", "quotas-0-gpus": "16", "quotas-0-borrow": "0"})
    told = admin.post(PATH, sent).context["preview"]["outlook"]
    counts = {row["label"]: (row["before"], row["after"]) for row in told}
    assert counts["Waiting jobs held by the quota of their team"] == (0, 1)
    assert counts["Running jobs of teams above their quota, which go on"] == (0, 1)
    assert counts["GPUs above quotas"] == (0, 16)


def test_a_change_needs_a_reason(admin: Client, cluster: str) -> None:
    answer = admin.post(PATH, fields(slice_size="8", reason=" ", activate="1"))
    assert answer.status_code == 422
    assert "say why" in answer.content.decode()
    assert policy_now()[0] == 1


def test_who_has_seen_an_older_version_is_told(admin: Client, cluster: str) -> None:
    sent = fields(slice_size="8", reason="mine", activate="1")
    policy_change(cluster=NAME, policy=Policy(slice_size=9), expected=1, by="eve", reason="hers")
    answer = admin.post(PATH, sent)
    assert answer.status_code == 422
    assert "Policy 2 is in force, not 1" in answer.content.decode()
    assert policy_now() == (2, Policy(slice_size=9))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("slice_size", "0", "from 1 to 1024, or nothing for auto."),
        ("slice_size", "x", "from 1 to 1024, or nothing for auto."),
        ("target_spares", "", "Give a whole number from 0 to 1024."),
        ("min_spares", "3", "from 0 to target_spares (2)"),
        ("queue_order", "luck", "luck"),
    ],
)
def test_what_is_wrong_is_told_at_its_setting(admin: Client, cluster: str, name: str, value: str, told: str) -> None:
    answer = admin.post(PATH, fields(reason="x", activate="1", **{name: value}))
    assert answer.status_code == 422
    page = unescape(answer.content.decode())
    assert page.count('role="alert"') == 1
    assert told in page.split(f'for="id_{name}"')[1].split(f'id="id_{name}_error">')[1].split("</span>")[0]
    assert f'id_{name}_error"' in page.split(f'name="{name}"')[1].split(">")[0]  # tied to it
    assert f'<a href="#id_{name}" data-error-link>' in page
    assert policy_now()[0] == 1


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_page_says_of_each_setting_what_it_is(user: Client, cluster: str, setting: Setting) -> None:
    page = user.get(PATH).content.decode()
    part = page.split(f'for="id_{setting.name}"')[1].split('<div class="setting">')[0]
    assert setting.label in part
    assert setting.meaning in part.replace("&#x27;", "'")
    assert setting.unit in part
    assert "Default" in part


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_page_says_of_each_table_what_it_is_and_what_it_holds(admin: Client, user: Client, cluster: str, table: Table) -> None:
    policy_change(cluster=NAME, policy=Policy(quotas=(Quota(team="vision", gpus=64),)), expected=1, by="eve", reason="x")
    for browser, edited in ((admin, True), (user, False)):
        part = unescape(browser.get(PATH).content.decode()).split(f'id="{table.name}-label"')[1].split("</table>")[0]
        assert table.label in part
        assert table.meaning in part
        assert all(f'<th scope="col">{column.label}' in part for column in table.columns)
        assert ("<input" in part) is edited
        assert {"classes": "standard", "quotas": "vision"}.get(table.name, table.columns[0].label) in part
        assert part.count("<input") == part.count("aria-label=")


def test_rows_are_added_changed_and_taken_out_through_the_page(admin: Client, cluster: str) -> None:
    """The last class is emptied, the first changed, and two quotas come: more than that take another look."""
    rows = {"classes-0-ageing": "9", "classes-2-name": "", "classes-2-priority": "", "classes-2-ageing": ""}
    rows |= {"quotas-0-team": "vision", "quotas-0-gpus": "64", "quotas-0-borrow": "8"}
    rows |= {"quotas-1-team": "*", "quotas-1-gpus": "16", "quotas-1-borrow": ""}
    shown = admin.post(PATH, fields(**rows))
    changes = {change["label"]: (change["old"], change["new"]) for change in shown.context["preview"]["changes"]}
    assert changes["Quotas of teams"] == ("none", "vision gpus 64 borrows at most 8; * gpus 16 borrows at most all that is left")
    assert 'name="quotas-3-team"' in shown.content.decode()  # two more empty rows
    sent = {**dict(shown.context["preview"]["values"]), "expected": "1", "reason": "teams", "activate": "1"}
    assert admin.post(PATH, sent).status_code == 302
    policy = policy_now()[1]
    standard, production, _ = Policy().classes
    assert policy.classes == (replace(standard, ageing=9), production)
    assert policy.quotas == (Quota(team="vision", gpus=64, borrow=8), Quota(team="*", gpus=16))
    assert policy == Policy(classes=policy.classes, quotas=policy.quotas)


NO_CLASSES = {f"classes-{row}-{name}": "" for row in range(3) for name in ("name", "priority", "ageing")}


@pytest.mark.parametrize(
    ("rows", "cell", "told"),
    [
        ({"classes-1-name": "standard"}, "classes-1-name", "Row 2: Name each once."),
        ({"classes-1-priority": "x"}, "classes-1-priority", "Row 2: Give a whole number from -10000 to 10000."),
        ({"quotas-1-gpus": "4"}, "quotas-1-team", "Row 2: Give 1 to 64 printable characters."),
        ({"quotas-1-team": "a"}, "quotas-1-gpus", "Row 2: Give a whole number from 0 to 10000000."),
        (
            {f"classes-{row}-{name}": "" for row in range(3) for name in ("name", "priority", "ageing")},
            "classes-0-name",
            "Give 1 to 32 rows.",
        ),
    ],
)
def test_what_is_wrong_in_a_row_is_told_at_its_cell(admin: Client, cluster: str, rows: dict[str, str], cell: str, told: str) -> None:
    blank = {f"quotas-{row}-{name}": "" for row in range(2) for name in ("team", "gpus", "borrow")}
    answer = admin.post(PATH, fields(reason="x", activate="1", **{**blank, **rows}))
    assert answer.status_code == 422
    page = unescape(answer.content.decode())
    assert page.count('role="alert"') == 1
    assert told in page
    tag = page.split(f'name="{cell}"')[1].split(">")[0]
    assert 'aria-invalid="true"' in tag
    assert f'aria-describedby="id_{cell}_error"' in tag
    assert f'id="id_{cell}_error">' in page
    assert f'<a href="#id_{cell}" data-error-link>' in page
    assert policy_now()[0] == 1


def test_the_page_says_what_teams_hold_of_their_quotas(admin: Client, user: Client, cluster: str) -> None:
    policy_change(cluster=NAME, policy=Policy(quotas=(Quota(team="vision", gpus=32),)), expected=1, by="eve", reason="x")
    submitted(admin, nodes="4", team="vision")
    run_pass(NAME)
    (team,) = user.get(PATH).context["teams"]
    assert (team["team"], team["gpus"], team["quota"], team["borrowed"]) == ("vision", 16, 32, 0)
    part = user.get(PATH).content.decode().split('id="teams-title"')[1].split("</table>")[0]
    assert "vision" in part
    assert "does not count" in part


def test_every_version_is_told_with_who_why_and_what(admin: Client, user: Client, cluster: str) -> None:
    admin.post(PATH, fields(slice_size="8", reason="smaller slices", activate="1"))
    admin.post(PATH, fields(Policy(slice_size=8, queue_order=QueueOrder.SIZE), reason="small ones first", activate="1"))
    history = user.get(PATH).context["history"]
    assert [(known["version"], known["by"], known["reason"]) for known in history] == [
        (3, "ada", "small ones first"),
        (2, "ada", "smaller slices"),
        (1, "test", "defaults of a new cluster"),
    ]
    assert [[(change["label"], change["old"], change["new"]) for change in known["changes"]] for known in history] == [
        [("Queue order", "age", "size")],
        [("Slice size", "auto", "8")],
        [],
    ]


def test_going_back_activates_the_old_values_as_a_new_version(admin: Client, cluster: str) -> None:
    policy_change(cluster=NAME, policy=Policy(slice_size=8), expected=1, by="eve", reason="smaller")
    shown = admin.get(f"{PATH}?revert=1")
    preview = shown.context["preview"]
    assert (preview["reason"], [change["new"] for change in preview["changes"]]) == ("Back to version 1", ["auto"])
    sent = {**dict(preview["values"]), "expected": str(preview["expected"]), "reason": preview["reason"], "activate": "1"}
    assert admin.post(PATH, sent).status_code == 302
    assert policy_now() == (3, Policy())


@pytest.mark.parametrize("version", ["9", "x", "-1", "9" * 30])
def test_there_is_no_way_back_to_what_never_was(admin: Client, cluster: str, version: str) -> None:
    assert admin.get(f"{PATH}?revert={version}").status_code == 404


def test_others_may_look_and_not_change(user: Client, cluster: str) -> None:
    page = user.get(f"{PATH}?revert=1").content.decode()
    assert "<input" not in page.split("<main")[1].split("</main>")[0].replace('<input type="hidden"', "")
    assert user.post(PATH, fields(slice_size="8", reason="x", activate="1")).status_code == 403
    assert policy_now()[0] == 1

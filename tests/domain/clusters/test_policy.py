"""Policies: each setting is described once, and holds what its description says and nothing else."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.errors import InvalidRequest
from clusters.domain.policy import Policy, difference, load_policy
from clusters.domain.setting import Setting, SparesScope
from clusters.domain.settings import SETTINGS
from clusters.domain.teams import CLASSES, MAX_GPUS, QUOTAS, TABLES, Column, PriorityClass, Quota, Row, Table
from tests.support.shared import ROOT

BY_NAME = {setting.name: setting for setting in SETTINGS}


def test_every_field_is_described_once_and_in_the_order_of_groups() -> None:
    described: list[Setting | Table] = [*SETTINGS, *TABLES]
    assert sorted(thing.name for thing in described) == sorted(field.name for field in fields(Policy))
    groups = [setting.group for setting in SETTINGS]
    assert {table.group for table in TABLES} <= set(groups)
    assert groups == sorted(groups, key=groups.index)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_a_setting_holds_its_default_and_says_what_it_is(setting: Setting) -> None:
    assert setting.holds(setting.default)
    assert setting.meaning.endswith(".")
    assert not setting.number or (setting.unit and setting.low < setting.high)


def test_every_setting_is_read() -> None:
    """Some code outside its description reads it."""
    sources = [
        file.read_text(encoding="utf-8")
        for top in ("clusters", "scheduling")
        for file in sorted((ROOT / top).rglob("*.py"))
        if file.name not in ("policy.py", "dump.py", "upcasters.py")
    ]
    read = {name for name in BY_NAME if any(f"policy.{name}" in source for source in sources)}
    assert read == {setting.name for setting in SETTINGS}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slice_size", 0),
        ("slice_size", 1025),
        ("slice_size", True),
        ("slice_size", 8.0),
        ("target_spares", -1),
        ("target_spares", None),
        ("spares_scope", "all"),
        ("lending", 1),
        ("offender_failures", 0),
        ("breaker_percent", 101),
        ("incident_window_ms", 60_001),
    ],
)
def test_what_it_does_not_hold_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Policy(**{name: value})
    assert (refused.value.field, refused.value.expected) == (name, BY_NAME[name].expected)


def test_more_minimum_spares_than_target_spares_are_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"min_spares: 3 .*target_spares \(2\)"):
        Policy(min_spares=3)


def values(setting: Setting) -> st.SearchStrategy[Any]:
    if setting.choices is not None:
        return st.sampled_from(list(setting.choices))
    if setting.switch:
        return st.booleans()
    numbers = st.integers(setting.low, setting.high)
    return st.none() | numbers if setting.auto else numbers


@given(drawn=st.fixed_dictionaries({setting.name: values(setting) for setting in SETTINGS}))
def test_a_difference_is_what_makes_one_policy_of_the_other(drawn: dict[str, Any]) -> None:
    new = Policy(**{**drawn, "min_spares": min(drawn["min_spares"], drawn["target_spares"])})
    old = Policy()
    changes = difference(old, new)
    assert all(isinstance(change.setting, Setting) for change in changes)
    back: dict[str, Any] = {change.setting.name: change.old for change in changes}
    assert replace(new, **back) == old
    assert {change.setting.name: change.new for change in changes}.items() <= asdict(new).items()
    assert all(change.old != change.new for change in changes)


names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
priority_classes = st.lists(
    st.builds(PriorityClass, name=names, priority=st.integers(-10_000, 10_000), ageing=st.integers(0, 1_000)),
    min_size=1,
    max_size=5,
    unique_by=lambda row: row.name,
)
quotas = st.lists(
    st.builds(Quota, team=names, gpus=st.integers(0, MAX_GPUS), borrow=st.none() | st.integers(0, MAX_GPUS)),
    max_size=5,
    unique_by=lambda row: row.team,
)


@given(classes=priority_classes, rows=quotas)
def test_tables_come_back_from_their_dump_and_their_difference_tells_them_in_words(classes: list[PriorityClass], rows: list[Quota]) -> None:
    policy = Policy(classes=tuple(classes), quotas=tuple(rows))
    assert load_policy(asdict(policy)) == policy
    told = {change.setting.name: change.new for change in difference(Policy(), policy)}
    assert told.get("quotas", "none") == QUOTAS.words(rows)
    assert told.get("classes", CLASSES.words(Policy().classes)) == CLASSES.words(classes)


STANDARD = PriorityClass(name="standard", priority=0, ageing=0)


@pytest.mark.parametrize(
    ("name", "rows", "field"),
    [
        ("classes", (), "classes"),
        ("classes", (STANDARD,) * 33, "classes"),
        ("classes", (STANDARD, STANDARD), "classes[1].name"),
        ("classes", (replace(STANDARD, name=" "),), "classes[0].name"),
        ("classes", (replace(STANDARD, priority=10_001),), "classes[0].priority"),
        ("classes", (replace(STANDARD, ageing=-1),), "classes[0].ageing"),
        ("quotas", (Quota(team="a", gpus=-1),), "quotas[0].gpus"),
        ("quotas", (Quota(team="a", gpus=1), Quota(team="a", gpus=2)), "quotas[1].team"),
        ("quotas", (Quota(team="", gpus=1),), "quotas[0].team"),
        ("quotas", (Quota(team="a", gpus=1, borrow=True),), "quotas[0].borrow"),
    ],
)
def test_a_row_that_a_table_does_not_hold_is_refused_by_its_place(name: str, rows: tuple[Row, ...], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Policy(**{name: rows})  # type: ignore[arg-type]
    assert refused.value.field == field


def test_tables_read_as_people_say_them() -> None:
    assert QUOTAS.words(()) == "none"
    assert QUOTAS.words((Quota(team="vision", gpus=64), Quota(team="*", gpus=8, borrow=4))) == (
        "vision gpus 64 borrows at most all that is left; * gpus 8 borrows at most 4"
    )


def test_equal_policies_do_not_differ() -> None:
    assert difference(Policy(spares_scope=SparesScope.ALL), Policy(spares_scope=SparesScope.ALL)) == ()


def test_the_guide_says_of_each_setting_what_it_is() -> None:
    guide = (ROOT / "docs" / "guides" / "policy.md").read_text(encoding="utf-8")
    rows = [row for row in guide.splitlines() if row.startswith("| `")]
    columns = [f"| `{t.name}.{c.name}` | {c.label} | {allowed_in(c)} |" for t in TABLES for c in t.columns]
    assert rows == [f"| `{s.name}` | {s.unit} | {words(s.default)} | {allowed(s)} | {s.meaning} |" for s in SETTINGS] + columns
    for table in TABLES:
        assert f"`{table.name}`: {table.meaning}" in " ".join(guide.split())
        assert f"(default: {table.words(getattr(Policy(), table.name))})" in " ".join(guide.split())


def words(value: object) -> str:
    return {None: "auto", True: "yes", False: "no"}[value] if value is None or isinstance(value, bool) else str(value)


def allowed_in(column: Column) -> str:
    return "a name" if column.text else f"{column.low} to {column.high}{f', or null: {column.auto}' if column.auto else ''}"


def allowed(setting: Setting) -> str:
    if setting.choices is not None:
        return ", ".join(setting.choices)
    return f"{setting.low} to {setting.high}{', or auto' if setting.auto else ''}" if setting.number else "yes, no"

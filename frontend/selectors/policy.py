"""The policy of a cluster: what is in force, what each setting is, what it was before, and what a change would mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

import msgspec

from clusters.domain.errors import UnknownSubject
from clusters.domain.events import PolicyActivated
from clusters.domain.policy import Change, Policy, difference
from clusters.domain.setting import Setting
from clusters.domain.settings import SETTINGS
from clusters.domain.state import ClusterState
from clusters.domain.teams import TABLES, Table
from clusters.eventlog.store import default_log
from frontend.selectors.clusters import now_of
from scheduling.domain.policy_commands import Outlook, outlook


class SettingFacts(msgspec.Struct, frozen=True):
    """One setting: what it is, in which range, and what it is now."""

    name: str
    label: str
    group: str
    unit: str
    meaning: str
    default: int | bool | str | None
    low: int | None  # of numbers
    high: int | None
    choices: list[str]  # of words
    may_be_null: bool  # null = left to the program


class ColumnFacts(msgspec.Struct, frozen=True):
    """One column of a table: a name, or a whole number in its range."""

    name: str
    label: str
    low: int | None  # of numbers
    high: int | None
    may_be_null: bool


class TableFacts(msgspec.Struct, frozen=True):
    """One setting with rows."""

    name: str
    label: str
    group: str
    meaning: str
    least: int  # rows
    most: int
    columns: list[ColumnFacts]
    default: list[dict[str, int | str | None]]


class ChangeFacts(msgspec.Struct, frozen=True):
    """One setting that a version changed; a table in words."""

    name: str
    old: int | bool | str | None
    new: int | bool | str | None


class PolicyVersion(msgspec.Struct, frozen=True):
    """One version, and what it changed."""

    version: int
    seq: int
    activated_at_us: int  # cluster time
    recorded_at_us: int  # wall time
    by: str
    reason: str
    changes: list[ChangeFacts]
    policy: Policy


class OutlookFacts(msgspec.Struct, frozen=True):
    """What a policy makes of the cluster as it is now."""

    slice_size: int
    idle_slices: int
    idle_nodes: int
    stranded_nodes: int
    spare_nodes: int
    starting: int  # waiting jobs that could start now
    never: int  # waiting jobs that could never start
    held: int  # waiting jobs that the quota of their team keeps from starting now
    above_quota: int  # jobs with nodes of teams that hold more than their quota; they go on
    borrowed_gpus: int  # GPUs that teams hold above their quotas


class PolicyForecast(msgspec.Struct, frozen=True):
    """What a change would mean."""

    changes: list[ChangeFacts]
    before: OutlookFacts
    after: OutlookFacts


def describe(setting: Setting) -> SettingFacts:
    """The setting in plain values."""
    return SettingFacts(
        name=setting.name,
        label=setting.label,
        group=setting.group,
        unit=setting.unit,
        meaning=setting.meaning,
        default=setting.default,
        low=setting.low if setting.number else None,
        high=setting.high if setting.number else None,
        choices=[str(word) for word in setting.choices or ()],
        may_be_null=bool(setting.auto),
    )


def settings_list() -> list[SettingFacts]:
    """All settings, by group."""
    return [describe(setting) for setting in SETTINGS]


def tables_list() -> list[TableFacts]:
    """All settings with rows."""
    return [_describe_table(table) for table in TABLES]


def _describe_table(table: Table) -> TableFacts:
    columns = [
        ColumnFacts(
            name=column.name,
            label=column.label,
            low=None if column.text else column.low,
            high=None if column.text else column.high,
            may_be_null=bool(column.auto),
        )
        for column in table.columns
    ]
    return TableFacts(
        name=table.name,
        label=table.label,
        group=table.group,
        meaning=table.meaning,
        least=table.least,
        most=table.most,
        columns=columns,
        default=[asdict(row) for row in getattr(Policy(), table.name)],
    )


def policy_history(cluster: str) -> list[PolicyVersion]:
    """All versions, the newest first; raises UnknownCluster."""
    versions: list[PolicyVersion] = []
    before: Policy | None = None
    for event in default_log().about(cluster, ""):  # what is about the cluster as a whole
        payload = event.payload
        if not isinstance(payload, PolicyActivated):
            continue
        changes = change_facts(difference(before, payload.policy)) if before is not None else []
        versions.append(
            PolicyVersion(
                version=payload.version,
                seq=event.seq,
                activated_at_us=event.occurred_at,
                recorded_at_us=event.recorded_at,
                by=payload.by,
                reason=payload.reason,
                changes=changes,
                policy=payload.policy,
            )
        )
        before = payload.policy
    return versions[::-1]


def policy_of(cluster: str, version: int) -> Policy:
    """The policy of a version; raises UnknownSubject."""
    for known in policy_history(cluster):
        if known.version == version:
            return known.policy
    raise UnknownSubject(f"cluster {cluster} has had no policy {version}")


def change_facts(changes: Iterable[Change]) -> list[ChangeFacts]:
    """Changes in plain values."""
    return [ChangeFacts(change.setting.name, change.old, change.new) for change in changes]


def forecast(state: ClusterState, policy: Policy) -> PolicyForecast:
    """What the policy would change, in itself and in the cluster; the caller holds the state."""
    changes = change_facts(difference(state.policy, policy))
    now = now_of(state)
    return PolicyForecast(changes, _facts(outlook(state, state.policy, now)), _facts(outlook(state, policy, now)))


def with_values(policy: Policy, values: Mapping[str, Any]) -> Policy:
    """The policy with some settings changed; words become what they stand for, and objects rows. Raises InvalidRequest."""
    typed: dict[str, Any] = {}
    for setting in SETTINGS:
        if setting.name in values:
            value = values[setting.name]
            words = {} if setting.choices is None else {str(word): word for word in setting.choices}
            typed[setting.name] = words.get(str(value), value)
    typed |= {table.name: table.load(values[table.name]) for table in TABLES if table.name in values}
    return replace(policy, **typed)


def _facts(told: Outlook) -> OutlookFacts:
    return msgspec.convert(told, OutlookFacts, from_attributes=True)

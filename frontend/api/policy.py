"""The policy: read it, change it, and its history."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.fields import Field
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import ChangePolicy
from clusters.domain.constraints import MAX_NAME
from clusters.domain.policy import Policy
from clusters.domain.setting import Setting
from clusters.domain.settings import SETTINGS
from clusters.domain.teams import TABLES, Column, Table
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, PlannedEvent, Rehearsal, give
from frontend.api.errors import FieldError, Invalid, shown
from frontend.api.fields import Input, OneOf, SeveralInputs, Switch, Text, WholeNumber, checked
from frontend.selectors.clusters import reading
from frontend.selectors.paging import first_of
from frontend.selectors.policy import (
    PolicyForecast,
    PolicyVersion,
    SettingFacts,
    TableFacts,
    forecast,
    policy_history,
    policy_of,
    settings_list,
    tables_list,
    with_values,
)
from frontend.selectors.teams import TeamFacts, teams_list
from scheduling.domain.policy_commands import MOST_REASON

MOST_VERSION = 2**31
MOST_VERSIONS = 200

IF_MATCH = "If-Match"
_ETAG = re.compile(r'"([0-9]{1,9})"')


class PolicyInForce(msgspec.Struct, frozen=True):
    """The policy that decisions read now, and what each setting is."""

    version: int
    policy: Policy
    settings: list[SettingFacts]
    tables: list[TableFacts]


class PolicyChanged(msgspec.Struct, frozen=True):
    """What a change did, or would do."""

    version: int  # in force now
    policy: Policy  # as asked for
    dry_run: bool
    forecast: PolicyForecast
    events: list[PlannedEvent]  # that would be appended, where it was only rehearsed


class PolicyHistory(msgspec.Struct, frozen=True):
    """Some versions, the newest first."""

    items: list[PolicyVersion]
    next: int | None  # give this as `before`


def _field(setting: Setting) -> Field[Any, Any, Any, Any]:
    told = f"{setting.meaning} ({setting.unit})" if setting.unit else setting.meaning
    if setting.choices is not None:
        return OneOf(setting.choices, required=False, help_text=told)
    if setting.switch:
        return Switch(required=False, help_text=told)
    return WholeNumber(setting.low, setting.high, required=False, allow_null=bool(setting.auto), help_text=told)


def _rows(table: Table) -> SeveralInputs:
    """A whole table; a name for its rows in the schema."""
    row = type(f"{table.row.__name__}Input", (Input,), {column.name: _cell(column) for column in table.columns})
    return SeveralInputs(row(), table.least, table.most, required=False, help_text=table.meaning)


def _cell(column: Column) -> Field[Any, Any, Any, Any]:
    if column.text:
        return Text(MAX_NAME, least=1, help_text=column.label)
    return WholeNumber(column.low, column.high, required=not column.auto, allow_null=bool(column.auto), help_text=column.label)


#: The settings to change; those that are left out stay as they are.
PolicyValues = type(
    "PolicyValues", (Input,), {setting.name: _field(setting) for setting in SETTINGS} | {table.name: _rows(table) for table in TABLES}
)


class PolicyInput(Input):
    """A change of the policy."""

    policy = PolicyValues(help_text="the settings to change; those left out stay as they are")
    reason = Text(MOST_REASON, least=1, help_text="why; kept in the log with your name")
    expected_version = WholeNumber(
        0, MOST_VERSION, required=False, help_text="the version that you have seen; or send it as If-Match, which is its ETag"
    )


class HistoryQuery(Input):
    """How far back."""

    before = WholeNumber(1, MOST_VERSION, default=MOST_VERSION, help_text="the last version of the page before")
    limit = WholeNumber(1, MOST_VERSIONS, default=50)


class PolicyView(ApiView):
    """The policy in force."""

    @extend_schema(operation_id="policy_get", responses=PolicyInForce)
    def get(self, request: Request, cluster: str) -> Response:
        with reading(cluster) as state:
            told = PolicyInForce(state.policy_version, state.policy, settings_list(), tables_list())
        return answer(told, headers=_etag(told.version))

    @extend_schema(
        operation_id="policy_change",
        request=PolicyInput,
        responses=PolicyChanged,
        parameters=[
            *WRITING,
            OpenApiParameter(
                IF_MATCH,
                {"type": "string", "pattern": f"^{_ETAG.pattern}$"},
                OpenApiParameter.HEADER,
                description="the ETag of the policy that you have seen",
            ),
        ],
        description="Put a policy in force; running jobs keep their slices. With dry_run nothing changes.",
    )
    def put(self, request: Request, cluster: str) -> Response:
        wanted = checked(PolicyInput, request.data)
        expected = _expected(request, wanted.get("expected_version"))
        with reading(cluster) as state:
            version, base = state.policy_version, state.policy
        if 0 < expected < version:  # too late, unless it was sent before: then it must say the same as then
            base = policy_of(cluster, expected)
        policy = with_values(base, wanted["policy"])
        with reading(cluster) as state:
            told = forecast(state, policy)
        done = give(request, cluster, ChangePolicy(policy=policy, expected=expected, by=caller_of(request).name, reason=wanted["reason"]))
        planned = done.events if isinstance(done, Rehearsal) else None
        version = expected + 1 if planned is None else version
        return answer(PolicyChanged(version, policy, planned is not None, told, planned or []), headers=_etag(version))


class PolicyHistoryView(ApiView):
    """What was in force before."""

    @extend_schema(operation_id="policy_history", parameters=[HistoryQuery], responses=PolicyHistory)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(HistoryQuery, request.query_params)
        older = (version for version in policy_history(cluster) if version.version < query["before"])
        items, more = first_of(older, query["limit"])
        return answer(PolicyHistory(items, items[-1].version if more else None))


class Teams(msgspec.Struct, frozen=True):
    """All teams that have a quota, hold GPUs, or wait."""

    items: list[TeamFacts]


class TeamListView(ApiView):
    """What teams use of their quotas."""

    @extend_schema(
        operation_id="teams_list",
        responses=Teams,
        description="GPUs held now against quota and loan, jobs that wait, and the part in what was used lately, by GPUs held.",
    )
    def get(self, request: Request, cluster: str) -> Response:
        with reading(cluster) as state:
            return answer(Teams(teams_list(state)))


def _etag(version: int) -> dict[str, str]:
    return {"ETag": f'"{version}"'}


def _expected(request: Request, given: int | None) -> int:
    """The version that the caller has seen."""
    header = request.headers.get(IF_MATCH)
    if header is None and given is not None:
        return given
    match = _ETAG.fullmatch(header or "")
    if match is None:
        field, value = ("expected_version", None) if header is None else (IF_MATCH, shown(header))
        raise Invalid([FieldError(field, value, 'give the version that you have seen: expected_version, or its ETag, such as "3"')])
    if given is not None and given != int(match[1]):
        raise Invalid([FieldError("expected_version", given, f"give the same version as If-Match ({match[1]}), or only one of them")])
    return int(match[1])

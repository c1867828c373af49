"""The policy: its settings, what a change would mean, and every version with who and why.

A change takes two steps: the first shows what would change and changes nothing, the second says why and puts it in force.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from msgspec import to_builtins

from clusters.domain.decision import Refusal
from clusters.domain.policy import Policy
from clusters.domain.setting import Setting
from clusters.domain.settings import SETTINGS
from clusters.domain.state import ClusterState
from clusters.domain.teams import TABLES, Table
from frontend.accounts.access import caller_of
from frontend.accounts.roles import Permission
from frontend.pages.base import frame, page, switcher
from frontend.pages.policyform import PolicyForm, range_of, worded
from frontend.pages.policytables import sent_cells
from frontend.selectors.clusters import reading
from frontend.selectors.policy import ChangeFacts, PolicyForecast, forecast, policy_history, policy_of
from frontend.selectors.teams import teams_list
from scheduling.domain.policy_commands import MOST_REASON
from scheduling.domain.refusals import explain
from scheduling.services import policy_change

MOST_DIGITS = 9
MOST_VERSIONS = 50

BY_NAME: dict[str, Setting | Table] = {setting.name: setting for setting in SETTINGS} | {table.name: table for table in TABLES}

#: What an outlook counts, as it reads.
OUTLOOK = (
    ("slice_size", "Nodes in a slice, at most"),
    ("idle_slices", "Whole slices free"),
    ("idle_nodes", "Nodes in them"),
    ("stranded_nodes", "Free nodes that make no slice"),
    ("spare_nodes", "Spares kept"),
    ("starting", "Waiting jobs that could start now"),
    ("never", "Waiting jobs that could never start"),
    ("held", "Waiting jobs held by the quota of their team"),
    ("above_quota", "Running jobs of teams above their quota, which go on"),
    ("borrowed_gpus", "GPUs above quotas"),
)


@require_http_methods(["GET", "HEAD", "POST"])
@page
def policy_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The policy; a POST shows what a change would mean, or makes it."""
    if request.method == "POST":
        return _change(request, cluster)
    wanted = _wanted(request, cluster)
    with reading(cluster) as state:
        context = policy_context(state, PolicyForm(policy=wanted or state.policy))
        if wanted is not None:
            context |= _preview(state, wanted, f"Back to version {request.GET['revert']}", state.policy_version)
    return render(request, "frontend/policy.html", context | switcher() | _history(cluster))


def _wanted(request: HttpRequest, cluster: str) -> Policy | None:
    """The old version that somebody who may change the policy asks for."""
    version = request.GET.get("revert", "")
    if not version or not caller_of(request).may(Permission.POLICY):
        return None
    return policy_of(cluster, _number(version))


def _change(request: HttpRequest, cluster: str) -> HttpResponse:
    with reading(cluster) as state:
        form = PolicyForm(request.POST, policy=state.policy)
        policy = form.cleaned_data["policy"] if form.is_valid() else None
    reason, seen = request.POST.get("reason", "").strip(), _number(request.POST.get("expected", ""))
    problem = ""
    if policy is not None and "activate" in request.POST:
        outcome = policy_change(cluster=cluster, policy=policy, expected=seen, by=caller_of(request).name, reason=reason)
        if not isinstance(outcome, Refusal):
            return redirect("frontend:policy", cluster)
        problem = explain(outcome)
    with reading(cluster) as state:
        context = policy_context(state, form)
        if policy is not None:
            context |= _preview(state, policy, reason, state.policy_version)
    context |= switcher() | _history(cluster) | {"problem": problem[:1].upper() + problem[1:]}
    return render(request, "frontend/policy.html", context, status=422 if form.errors or problem else 200)


def policy_context(state: ClusterState, form: PolicyForm) -> dict[str, Any]:
    """The settings by group; the caller holds the state."""
    rows = [
        {
            "name": setting.name,
            "field": form[setting.name],
            "group": setting.group,
            "unit": setting.unit,
            "meaning": setting.meaning,
            "switch": setting.switch,
            "value": worded(setting, getattr(state.policy, setting.name)),
            "default": worded(setting, setting.default),
            "range": range_of(setting),
        }
        for setting in SETTINGS
    ]
    tables: dict[str, list[dict[str, Any]]] = {rows.table.group: [] for rows in form.tables}
    for table in form.tables:
        tables[table.table.group].append(table.shown(form, state.policy))
    half_life = state.policy.fair_share_half_life_h
    groups = [
        {"name": name, "settings": list(members), "tables": tables.get(str(name), [])}
        for name, members in groupby(rows, key=lambda row: row["group"])
    ]
    return {
        **frame(state, "policy"),
        "version": state.policy_version,
        "form": form,
        "groups": groups,
        "teams": [{**to_builtins(team), "share": f"{team.share:.0%}" if half_life else ""} for team in teams_list(state)],
        "most_reason": MOST_REASON,
    }


def _preview(state: ClusterState, policy: Policy, reason: str, seen: int) -> dict[str, Any]:
    told = forecast(state, policy)
    return {
        "preview": {
            "changes": [_change_row(change) for change in told.changes],
            "outlook": _outlook(told),
            "values": _sent(policy),
            "reason": reason,
            "expected": seen,
            "warning": _warning(told),
        }
    }


def _warning(told: PolicyForecast) -> str:
    lost = told.after.never - told.before.never
    return f"{lost} waiting job{'s' if lost > 1 else ''} could then never start; cancel or submit again." if lost > 0 else ""


def _sent(policy: Policy) -> list[tuple[str, str]]:
    """The values as a form sends them; a switch that is off is not sent."""
    values = ((setting.name, getattr(policy, setting.name)) for setting in SETTINGS)
    sent = [(name, "on" if value is True else "" if value is None else str(value)) for name, value in values if value is not False]
    return sent + sent_cells(policy)


def _outlook(told: PolicyForecast) -> list[dict[str, Any]]:
    return [{"label": label, "before": getattr(told.before, name), "after": getattr(told.after, name)} for name, label in OUTLOOK]


def _change_row(change: ChangeFacts) -> dict[str, Any]:
    setting = BY_NAME[change.name]
    old, new = worded(setting, change.old), worded(setting, change.new)
    unit = setting.unit if isinstance(setting, Setting) else ""
    return {"label": setting.label, "unit": unit, "old": old, "new": new}


def _history(cluster: str) -> dict[str, Any]:
    versions = policy_history(cluster)[:MOST_VERSIONS]
    rows = [
        {
            "version": known.version,
            "at_us": known.activated_at_us,
            "by": known.by,
            "reason": known.reason,
            "changes": [_change_row(change) for change in known.changes],
        }
        for known in versions
    ]
    return {"history": rows}


def _number(text: str) -> int:
    """A version that a browser sent."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise Http404("there is no such version")
    return int(text)

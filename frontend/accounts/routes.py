"""What each route asks of who calls it: the one table that every page, every path of the API and every socket is looked up in.

Nothing is allowed that is not written here: a route without a row answers 403 to everybody, a method without one 405. HEAD
goes with GET. A new route gets its row here, and one in tests/api/test_roles.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from frontend.accounts.roles import Permission

#: What needs no account: signing in.
OPEN = None

Row = Mapping[str, Permission | None]

_READ: Row = {"GET": Permission.READ}
_READ_ANY_METHOD: Row = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), Permission.READ)

PAGES: dict[str, Row] = {
    "frontend:login": {"GET": OPEN, "POST": OPEN},
    "frontend:logout": {"POST": Permission.ACCOUNT},
    "frontend:users": {"GET": Permission.USERS, "POST": Permission.USERS},
    "frontend:user-role": {"POST": Permission.USERS},
    "frontend:user-active": {"POST": Permission.USERS},
    "frontend:user-link": {"POST": Permission.USERS},
    "frontend:tokens": {"GET": Permission.OWN_TOKENS, "POST": Permission.OWN_TOKENS},
    "frontend:token-revoke": {"POST": Permission.OWN_TOKENS},  # of others: ANY_TOKEN, which the view asks for
    "frontend:clusters": _READ,
    "frontend:fleet": _READ,
    "frontend:fleet-queue": _READ,
    "frontend:fleet-events": _READ,
    "frontend:fleet-spares": _READ,
    "frontend:fleet-breaker": _READ,
    "frontend:fleet-incidents": _READ,
    "frontend:incidents": _READ,
    "frontend:incidents-rows": _READ,
    "frontend:capacity": _READ,
    "frontend:jobs": _READ,
    "frontend:jobs-rows": _READ,
    "frontend:job": _READ,
    "frontend:job-detail": _READ,
    "frontend:job-why": _READ,
    "frontend:job-launch": _READ,
    "frontend:job-preview": {"POST": Permission.SUBMIT},
    "frontend:job-new": {"GET": Permission.SUBMIT, "POST": Permission.SUBMIT},
    "frontend:rack": _READ,
    "frontend:rack-detail": _READ,
    "frontend:import": {"GET": Permission.INVENTORY, "POST": Permission.INVENTORY},
    "frontend:import-preview": {"GET": Permission.INVENTORY, "POST": Permission.INVENTORY},
    "frontend:events": _READ,
    "frontend:signals": _READ,
    "frontend:events-rows": _READ,
    "frontend:fleet-plans": _READ,
    "frontend:job-plans": _READ,
    "frontend:plans": _READ,
    "frontend:plans-rows": _READ,
    "frontend:plan": _READ,
    "frontend:plan-detail": _READ,
    "frontend:plan-what-if": {"GET": Permission.NODES},
    "frontend:policy": {"GET": Permission.READ, "POST": Permission.POLICY},
}

API: dict[str, Row] = {
    "api:schema": _READ,
    "api:clusters": _READ,
    "api:cluster": _READ,
    "api:snapshot": _READ,
    "api:policy": {"GET": Permission.READ, "PUT": Permission.POLICY},
    "api:policy-history": _READ,
    "api:inventory": {"GET": Permission.READ, "POST": Permission.INVENTORY},
    "api:events": _READ,
    "api:capacity": _READ,
    "api:parallel": _READ,
    "api:spares": _READ,
    "api:teams": _READ,
    "api:incidents": _READ,
    "api:breaker": _READ,
    "api:breaker-reset": {"POST": Permission.NODES},
    "api:domains": _READ,
    "api:domain": _READ,
    "api:slices": _READ,
    "api:racks": _READ,
    "api:rack": _READ,
    "api:rack-state": {"PUT": Permission.NODES},
    "api:rack-remove": {"POST": Permission.RACKS},
    "api:switch-verb": {"POST": Permission.NODES},
    "api:nodes": _READ,
    "api:node": _READ,
    "api:node-verb": {"POST": Permission.NODES},
    "api:jobs": {"GET": Permission.READ, "POST": Permission.SUBMIT},
    "api:jobs-bulk": {"POST": Permission.SUBMIT},
    "api:job-preview": {"GET": Permission.READ, "POST": Permission.READ},
    "api:job": _READ,
    "api:job-why": _READ,
    "api:job-launch": _READ,
    "api:job-assignment": _READ,
    "api:job-checkpoint": {"POST": Permission.OWN_JOBS},  # likewise
    "api:job-priority": {"POST": Permission.OWN_JOBS},  # jobs of others: ANY_JOB, which the view asks for
    "api:job-verb": {"POST": Permission.OWN_JOBS},  # likewise
    "api:plans": _READ,
    "api:plan": _READ,
    "api:plan-verb": {"POST": Permission.NODES},
    "api:plans-request": {"POST": Permission.NODES},
    "api:plans-request-drop": {"POST": Permission.NODES},
    "api:signals": {"POST": Permission.SIGNALS},
    "api:signal-sources": _READ,
    "api:node-signals": _READ,
    "api:signals-format": {"POST": Permission.SIGNALS},
    "api:nothing": _READ_ANY_METHOD,
}

SOCKETS: dict[str, Row] = {
    "ws:live": _READ,
}

#: Every path of the API also says what can be sent to it.
_DESCRIBES: Row = {"OPTIONS": Permission.READ}

ROUTES: dict[str, Row] = {**PAGES, **{route: {**row, **_DESCRIBES} for route, row in API.items()}, **SOCKETS}


def row_of(route: str) -> Row | None:
    """The row of a route; none where there is no such row."""
    return ROUTES.get(route)


def permission_of(row: Row, method: str) -> Permission | None:
    """The permission that a method needs, or OPEN; raises KeyError where the route has no such method."""
    return row["GET" if method == "HEAD" else method]

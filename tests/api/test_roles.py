"""Who may call what: every route and every socket, with a session and with a token, against one explicit table.

A route without a row fails, and so does a row without a route. Each route is asked for by the least role that is let in and by the next
one below, by nobody, by who only sends signals, and by an administrator: that more roles may more is held for the permissions themselves.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from clusters.domain.jobs import JobKind, JobRequest
from frontend.accounts.roles import Caller, Permission, Role
from frontend.accounts.routes import ROUTES
from frontend.accounts.tokens import token_create
from frontend.live import hub
from frontend.live.routing import websocket_urlpatterns
from scheduling.services import job_submit
from tests.api.paths import named_paths
from tests.integration.live.sockets import Socket
from tests.support.lab import NAME, make_lab
from tests.support.people import browser_of, make_user

EVERYBODY = "everybody"  # also who is not signed in
ACCOUNT = "account"  # also who has no role
SENDERS = "senders"  # operators, administrators, and who may send signals and nothing else
VIEWER, RESEARCHER, OPERATOR, ADMIN, SIGNALS = Role

#: The least role for each method of each route; a method that is not here does not exist.
MATRIX: dict[str, dict[str, str]] = {
    "frontend:login": {"GET": EVERYBODY, "POST": EVERYBODY},
    "frontend:logout": {"POST": ACCOUNT},
    "frontend:users": {"GET": ADMIN, "POST": ADMIN},
    "frontend:user-role": {"POST": ADMIN},
    "frontend:user-active": {"POST": ADMIN},
    "frontend:user-link": {"POST": ADMIN},
    "frontend:tokens": {"GET": VIEWER, "POST": VIEWER},
    "frontend:token-revoke": {"POST": VIEWER},
    "frontend:clusters": {"GET": VIEWER},
    "frontend:fleet": {"GET": VIEWER},
    "frontend:fleet-queue": {"GET": VIEWER},
    "frontend:fleet-events": {"GET": VIEWER},
    "frontend:fleet-spares": {"GET": VIEWER},
    "frontend:fleet-breaker": {"GET": VIEWER},
    "frontend:fleet-incidents": {"GET": VIEWER},
    "frontend:incidents": {"GET": VIEWER},
    "frontend:incidents-rows": {"GET": VIEWER},
    "frontend:capacity": {"GET": VIEWER},
    "frontend:import": {"GET": OPERATOR, "POST": OPERATOR},
    "frontend:import-preview": {"GET": OPERATOR, "POST": OPERATOR},
    "frontend:events": {"GET": VIEWER},
    "frontend:signals": {"GET": VIEWER},
    "frontend:events-rows": {"GET": VIEWER},
    "frontend:jobs": {"GET": VIEWER},
    "frontend:jobs-rows": {"GET": VIEWER},
    "frontend:job": {"GET": VIEWER},
    "frontend:job-detail": {"GET": VIEWER},
    "frontend:job-why": {"GET": VIEWER},
    "frontend:job-launch": {"GET": VIEWER},
    "frontend:job-preview": {"POST": RESEARCHER},
    "frontend:job-new": {"GET": RESEARCHER, "POST": RESEARCHER},
    "frontend:rack": {"GET": VIEWER},
    "frontend:rack-detail": {"GET": VIEWER},
    "frontend:fleet-plans": {"GET": VIEWER},
    "frontend:job-plans": {"GET": VIEWER},
    "frontend:plans": {"GET": VIEWER},
    "frontend:plans-rows": {"GET": VIEWER},
    "frontend:plan": {"GET": VIEWER},
    "frontend:plan-detail": {"GET": VIEWER},
    "frontend:plan-what-if": {"GET": OPERATOR},
    "frontend:policy": {"GET": VIEWER, "POST": ADMIN},
    "api:schema": {"GET": VIEWER},
    "api:clusters": {"GET": VIEWER},
    "api:cluster": {"GET": VIEWER},
    "api:snapshot": {"GET": VIEWER},
    "api:policy": {"GET": VIEWER, "PUT": ADMIN},
    "api:policy-history": {"GET": VIEWER},
    "api:inventory": {"GET": VIEWER, "POST": OPERATOR},
    "api:events": {"GET": VIEWER},
    "api:capacity": {"GET": VIEWER},
    "api:parallel": {"GET": VIEWER},
    "api:spares": {"GET": VIEWER},
    "api:teams": {"GET": VIEWER},
    "api:incidents": {"GET": VIEWER},
    "api:breaker": {"GET": VIEWER},
    "api:breaker-reset": {"POST": OPERATOR},
    "api:domains": {"GET": VIEWER},
    "api:domain": {"GET": VIEWER},
    "api:slices": {"GET": VIEWER},
    "api:racks": {"GET": VIEWER},
    "api:rack": {"GET": VIEWER},
    "api:rack-state": {"PUT": OPERATOR},
    "api:rack-remove": {"POST": ADMIN},
    "api:switch-verb": {"POST": OPERATOR},
    "api:nodes": {"GET": VIEWER},
    "api:node": {"GET": VIEWER},
    "api:node-verb": {"POST": OPERATOR},
    "api:jobs": {"GET": VIEWER, "POST": RESEARCHER},
    "api:jobs-bulk": {"POST": RESEARCHER},
    "api:job-preview": {"GET": VIEWER, "POST": VIEWER},
    "api:job": {"GET": VIEWER},
    "api:job-why": {"GET": VIEWER},
    "api:job-launch": {"GET": VIEWER},
    "api:job-assignment": {"GET": VIEWER},
    "api:job-checkpoint": {"POST": OPERATOR},  # of a job of somebody else
    "api:job-priority": {"POST": OPERATOR},  # of a job of somebody else; one's own: see below
    "api:job-verb": {"POST": OPERATOR},  # of a job of somebody else; one's own: see below
    "api:plans": {"GET": VIEWER},
    "api:plan": {"GET": VIEWER},
    "api:plan-verb": {"POST": OPERATOR},
    "api:plans-request": {"POST": OPERATOR},
    "api:plans-request-drop": {"POST": OPERATOR},
    "api:signals": {"POST": SENDERS},
    "api:signal-sources": {"GET": VIEWER},
    "api:node-signals": {"GET": VIEWER},
    "api:signals-format": {"POST": SENDERS},
    "api:nothing": dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), VIEWER),
}

SOCKET_MATRIX: dict[str, str | None] = {"ws:live": VIEWER, "ws:nothing": None}

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
RANK = [EVERYBODY, ACCOUNT, VIEWER, RESEARCHER, OPERATOR, ADMIN]


ALL = dict(named_paths())


def test_every_route_and_socket_has_a_row_here_and_there() -> None:
    sockets = {route.name for route in websocket_urlpatterns}
    assert ALL.keys() == MATRIX.keys()
    assert sockets == SOCKET_MATRIX.keys()
    assert ROUTES.keys() == MATRIX.keys() | {name for name, least in SOCKET_MATRIX.items() if least is not None}
    assert all({*ROUTES[name]} - {"OPTIONS"} == {*row} for name, row in MATRIX.items())


@pytest.fixture
def somebodys_job(db: None) -> str:
    """A job of somebody who is none of the callers."""
    make_lab()
    job = job_submit(cluster=NAME, request=JobRequest(name="x", kind=JobKind.BATCH, nodes=2), by="somebody")
    assert isinstance(job, str)
    return job


def calls(job: str, who: str) -> Iterator[tuple[str, str, str, str | None]]:
    """(route, method, path, least role or None where there is no such method) of what is asked by this caller."""
    for name, path in ALL.items():
        for method in METHODS:
            least = MATRIX[name].get("GET" if method == "HEAD" else method)
            if method == "OPTIONS" and name.startswith("api:"):  # describes what can be sent there
                least = VIEWER
            if who in around(least):
                yield name, method, path.replace("j000001", job), least


def around(least: str | None) -> set[str]:
    """Whose answers tell all others': who is just let in, who is just kept out, and both ends."""
    if least is None:
        return {EVERYBODY, ADMIN}
    place = RANK.index(OPERATOR if least == SENDERS else least)
    return {EVERYBODY, SIGNALS, ADMIN, RANK[place], RANK[max(place - 1, 0)]}


@pytest.mark.parametrize("permission", list(Permission))
def test_whoever_may_less_may_nothing_that_who_may_more_may_not(permission: Permission) -> None:
    ladder = [Caller(name="", role=None), *(Caller(name="x", role=role) for role in (None, VIEWER, RESEARCHER, OPERATOR, ADMIN))]
    may = [caller.may(permission) for caller in ladder]
    assert may == sorted(may)


def outcome(client: Client, method: str, path: str) -> str:
    """What became of a request: "sign in", "refused", "no such method", or "in"."""
    answer: Any = client.generic(method, path, b"{}", content_type="application/json")
    assert answer.status_code < 500, (method, path, answer.content)
    if answer.status_code == 401 or (answer.status_code == 302 and answer.headers["Location"].startswith("/login/?next=")):
        assert answer.headers.get("WWW-Authenticate") == ("Bearer" if path.startswith("/api/") else None), path
        return "sign in"
    return {403: "refused", 405: "no such method"}.get(answer.status_code, "in")


def expected(least: str | None, who: str) -> str:
    """What should become of it."""
    if least == EVERYBODY:
        return "in"
    if who == EVERYBODY:
        return "sign in"
    if least is None:
        return "no such method"
    return "in" if lets_in(least, who) else "refused"


def lets_in(least: str, who: str) -> bool:
    """Whether somebody may do what takes at least a role."""
    if who == SIGNALS:
        return least in (EVERYBODY, ACCOUNT, SENDERS)
    return RANK.index(who) >= RANK.index(OPERATOR if least == SENDERS else least)


@pytest.mark.django_db
@pytest.mark.parametrize("who", [EVERYBODY, ACCOUNT, *Role])
def test_every_route_by_session(somebodys_job: str, who: str) -> None:
    user = None if who == EVERYBODY else make_user("caller", Role(who) if who in list(Role) else None)
    client = Client() if user is None else browser_of(user)
    for name, method, path, least in calls(somebodys_job, who):
        wanted = expected(least, who)
        if name == "frontend:login":  # a link that is no good is refused, whoever sends it
            wanted = {"POST": "refused"}.get(method, "in" if least else "no such method")
        caller = browser_of(user) if user is not None and name == "frontend:logout" else client
        if name == "frontend:logout" and method == "POST" and user is not None:
            assert caller.post(path).headers["Location"] == "/login/"
            continue
        assert outcome(caller, method, path) == wanted, (name, method)


@pytest.mark.django_db
@pytest.mark.parametrize("who", list(Role))
def test_every_route_by_token(somebodys_job: str, who: Role) -> None:
    """Tokens are for the API alone, and need no CSRF token there."""
    _, secret = token_create(user=make_user("caller", ADMIN), label="x", role=who)
    client = Client(enforce_csrf_checks=True, headers={"authorization": f"Bearer {secret}"})
    for name, method, path, least in calls(somebodys_job, who):
        if name.startswith("api:"):
            assert outcome(client, method, path) == expected(least, who), (name, method)
        elif method == "GET" and least != EVERYBODY:
            assert outcome(client, method, path) == "sign in", name


@pytest.mark.django_db
@pytest.mark.parametrize("verb", ["cancel", "hold", "release"])
def test_a_researcher_acts_on_their_own_jobs_and_no_others(somebodys_job: str, verb: str) -> None:
    own = job_submit(cluster=NAME, request=JobRequest(name="y", kind=JobKind.BATCH, nodes=2, held=verb == "release"), by="bob")
    bob = browser_of(make_user("bob", RESEARCHER))
    for job, status in ((own, 200), (somebodys_job, 403), ("j999999", 404)):
        answer: Any = bob.post(f"/api/v1/clusters/{NAME}/jobs/{job}/{verb}/", {}, content_type="application/json")
        assert answer.status_code == status, answer.content


@pytest.mark.django_db
def test_a_page_offers_only_what_the_role_may_do(somebodys_job: str) -> None:
    offers = {
        f"/clusters/{NAME}/jobs/": ("Submit job", RESEARCHER),
        f"/clusters/{NAME}/jobs/{somebodys_job}/": (f"cancel-{somebodys_job}", OPERATOR),
        f"/clusters/{NAME}/racks/r1/": ("fail-r1-n01", OPERATOR),
        f"/clusters/{NAME}/racks/r2/": ("rack-remove", ADMIN),
        f"/clusters/{NAME}/policy/": ("Show what would change", ADMIN),
        f"/clusters/{NAME}/": ('href="/users/"', ADMIN),
        "/tokens/": ("Make token", VIEWER),
    }
    for role in Role:
        browser = browser_of(make_user(f"a-{role}", role))
        for path, (words, least) in offers.items():
            page = browser.get(path).content.decode()
            assert (words in page) is (role.rank >= least.rank), (role, path)


# ---- sockets


@pytest_asyncio.fixture
async def closed_hub() -> AsyncIterator[None]:
    yield
    if hub._hub is not None:
        await hub._hub.close()
        hub._hub = None


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", [EVERYBODY, ACCOUNT, *Role])
@pytest.mark.parametrize("by", ["session", "token"])
async def test_every_socket(closed_hub: None, who: str, by: str) -> None:
    @sync_to_async
    def prepare() -> dict[str, str]:
        make_lab()
        if who == EVERYBODY:
            return {} if by == "session" else {"authorization": "Bearer sk_nothing"}
        role = Role(who) if who in list(Role) else None
        user = make_user("caller", role or VIEWER)
        token = token_create(user=user, label="x", role=role or VIEWER)[1] if by == "token" else ""
        if role is None:
            user.groups.clear()
        if token:
            return {"authorization": f"Bearer {token}"}
        return {"cookie": browser_of(user).cookies[settings.SESSION_COOKIE_NAME].value}

    identity = await prepare()
    for name, path in (("ws:live", f"/ws/clusters/{NAME}/"), ("ws:nothing", "/ws/other/")):
        least = SOCKET_MATRIX[name]
        async with Socket(path, **identity) as socket:
            assert await socket.opened() is (least is not None and lets_in(least, who)), name

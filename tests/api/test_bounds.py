"""Every number that the API takes has bounds: beyond them the answer names the field, and at them it is no failure."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
import yaml
from django.core.management import call_command

from clusters.domain.ids import LAST_INSTANT
from tests.api.calls import BASE, Api, job, read

pytestmark = pytest.mark.django_db

#: What stands for the parameters of paths.
PLACES = {"cluster": "lab", "domain": "r1", "rack": "r1", "node": "r1-n01", "plan": "p000001", "tray": "1"}
VERBS = {"jobs": "cancel", "plans": "approve", "nodes": "drain", "switches": "fail"}
#: Beyond what any store holds, and what a program makes of a missing value.
BEYOND = (-1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30)


class Taken(NamedTuple):
    """A number that an operation takes."""

    method: str
    path: str
    where: str  # "query" or "body"
    steps: tuple[str, ...]  # from the query or body to it; "[]": into a list
    low: float | None
    high: float | None


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    out = io.StringIO()
    call_command("spectacular", stdout=out)
    loaded: dict[str, Any] = yaml.safe_load(out.getvalue())
    return loaded


@pytest.fixture(scope="module")
def taken(schema: dict[str, Any]) -> list[Taken]:
    return list(_taken(schema))


def _taken(schema: dict[str, Any]) -> Iterator[Taken]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    for steps, low, high in _numbers(parameter["schema"], schema, (parameter["name"],)):
                        yield Taken(method, path, "query", steps, low, high)
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            for steps, low, high in _numbers(body or {}, schema, ()):
                yield Taken(method, path, "body", steps, low, high)


def _numbers(described: dict[str, Any], schema: dict[str, Any], steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """(steps, least, most) of each number in a description."""
    if "$ref" in described:
        described = schema["components"]["schemas"][described["$ref"].rpartition("/")[2]]
    for inner in (*described.get("anyOf", ()), *described.get("oneOf", ()), *described.get("allOf", ())):
        yield from _numbers(inner, schema, steps)
    kind = described.get("type")
    if "integer" in kind or "number" in kind if isinstance(kind, list) else kind in ("integer", "number"):
        yield steps, described.get("minimum"), described.get("maximum")
    for name, inner in described.get("properties", {}).items():
        yield from _numbers(inner, schema, (*steps, name))
    if isinstance(described.get("items"), dict):
        yield from _numbers(described["items"], schema, (*steps, "[]"))


def test_the_schema_gives_the_bounds_of_every_number(taken: list[Taken]) -> None:
    assert len(taken) > 60
    unbounded = [found for found in taken if found.low is None or found.high is None or not -(2**31) <= found.low <= found.high < 2**63]
    assert unbounded == []


def test_numbers_at_and_beyond_their_bounds_are_taken_or_refused_by_name(admin: Api, cluster: str, taken: list[Taken]) -> None:
    name = admin.post("clusters/lab/jobs/", job()).body["id"]
    for found in taken:
        assert found.low is not None
        assert found.high is not None
        for value in {found.low, found.high, *(value for value in BEYOND if not found.low <= value <= found.high)}:
            answer = _send(admin, found, value, name)
            assert answer.status < 500, (found, value, answer.body)
            if not found.low <= value <= found.high:
                assert answer.status == 422, (found, value, answer.body)
                assert any(found.steps[-1] in error["field"] for error in answer.body["errors"]), (found, value, answer.body)


def test_filters_that_are_not_there_and_words_that_are_none_are_refused_by_name(admin: Api, cluster: str, schema: dict[str, Any]) -> None:
    name = admin.post("clusters/lab/jobs/", job()).body["id"]
    asked = 0
    for path, operations in schema["paths"].items():
        words = [found["name"] for found in operations.get("get", {}).get("parameters", ()) if found["in"] == "query" and _is_word(found)]
        takes = any(found["in"] == "query" for found in operations.get("get", {}).get("parameters", ()))
        for field in [*words, "no_such_filter"] if takes and path.startswith(f"{BASE}clusters/") else ():
            answer = read(admin.client.get(f"{_place(path, name)}?{urlencode({field: 'nonsense'})}"))
            assert (answer.status, [error["field"] for error in answer.body["errors"]][-1:]) == (422, [field]), (path, field, answer.body)
            asked += 1
    assert asked > 20


def _is_word(parameter: dict[str, Any]) -> bool:
    described = parameter["schema"]
    return "enum" in described or described.get("type") == "boolean"


def _place(path: str, name: str) -> str:
    """The path of a job, node and so on that are there."""
    path = path.replace("{job}", name)
    kind = next((kind for kind in VERBS if f"/{kind}/" in path), "")
    path = path.replace("{verb}", VERBS.get(kind, "{verb}"))
    for parameter, stand_in in PLACES.items():
        path = path.replace(f"{{{parameter}}}", stand_in)
    assert path.startswith(BASE)
    assert "{" not in path, path
    return path


def _send(api: Api, found: Taken, value: float, name: str) -> Any:
    path = _place(found.path, name)
    if found.where == "query":
        return read(getattr(api.client, found.method)(f"{path}?{urlencode({found.steps[0]: value})}"))
    body: Any = value
    for step in reversed(found.steps):
        body = [body] if step == "[]" else {step: body}
    return read(getattr(api.client, found.method)(f"{path}?dry_run=true", json.dumps(body), content_type="application/json"))


@pytest.mark.parametrize(("at", "status"), [(0, 201), (LAST_INSTANT, 201), (LAST_INSTANT + 1, 422), (2**63 - 1, 422)])
def test_a_job_may_wait_until_the_last_year_that_is_known(user: Api, cluster: str, at: int, status: int) -> None:
    answer = user.post("clusters/lab/jobs/", job(not_before=at))
    assert answer.status == status
    if status == 422:
        assert [error["field"] for error in answer.body["errors"]] == ["not_before"]
    else:
        assert user.get(f"clusters/lab/jobs/{answer.body['id']}/why/").status == 200

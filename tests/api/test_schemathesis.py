"""The API against its own schema: what the schema says can be asked is asked, and each answer is held against what it says can come.

On a quiet cluster, by an administrator, through the whole stack of middleware, and with no examples found before: the same questions each
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from frontend.accounts.roles import Role
from frontend.accounts.tokens import bad_tokens, token_create
from scheduling.services import run_pass
from tests.api.calls import Api, job
from tests.support.people import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

EXAMPLES = 15

#: What the schema cannot say of these, the guide does: fields that exclude each other, files, and work that the cluster could never hold.
BEYOND_SCHEMA = (
    "jobs_submit",
    "jobs_submit_many",
    "jobs_preview",
    "jobs_preview_all",
    "policy_change",
    "inventory_import",
    "signals_push",
    "signals_push_format",
    "capacity_get",
    "parallel_get",
    "racks_set_state",
    "plans_request",
)

CONFIG: dict[str, Any] = {
    "seed": 1,
    "generation": {"codec": "latin-1"},  # of all of Unicode, the schema's patterns do not know what can be printed
    "operations": [
        {"include-operation-id": list(BEYOND_SCHEMA), "checks": {"positive_data_acceptance": {"enabled": False}}},
    ],
}

#: What there is, for the parameters of paths; what else is tried is not found.
THERE = {
    "cluster": ["lab"],
    "rack": ["r1", "r2"],
    "domain": ["r1", "r4"],
    "node": ["r1-n01", "r3-n07"],
    "job": ["j000080", "j000081", "j000082"],
}


def described() -> Any:
    """The schema, with what there is."""
    raw = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    for operations in raw["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path" and parameter["name"] in THERE:
                    parameter["schema"]["enum"] = THERE[parameter["name"]]
    loaded = schemathesis.openapi.from_dict(raw, config=SchemathesisConfig.from_dict(CONFIG))
    loaded.app = get_wsgi_application()
    return loaded


schema = described()


@pytest.fixture
def quiet(admin: Api, cluster: str) -> None:
    """Jobs run, share a node, and are held; nothing else happens."""
    for wanted in (job(), job(nodes=None, gpus=2, kind="interactive"), job(held=True)):
        assert admin.post("clusters/lab/jobs/", wanted).body["id"] in THERE["job"]
    run_pass(cluster)


@pytest.fixture
def kept_connection(db: None) -> Iterator[None]:
    """Requests leave the connection open, in whose transaction the test is."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def unthrottled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bad tokens are tried here by the dozen; with the throttle, everything else would be answered with 429 as well."""
    monkeypatch.setattr(bad_tokens, "blocked", lambda _: 0.0)
    yield
    bad_tokens.forget()


@pytest.fixture
def calm(quiet: None, kept_connection: None, unthrottled: None) -> None:
    """All of these."""


@pytest.fixture
def token(db: None) -> str:
    return token_create(user=make_user("tess", Role.ADMIN), label="test", role=Role.ADMIN)[1]


@schema.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=EXAMPLES, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case: Any, calm: None, token: str) -> None:
    answer = case.call_and_validate(headers={"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"})
    assert answer.status_code != 429, "then nothing is asked at all"


RACK = b"kind: SlicekeeperInventory\nracks:\n  - {name: r9, gpus: 4, nodes: 'r9-n[1-3]'}\n"

#: Writes that chance seldom gets right: method, path, body, status.
RIGHT: list[tuple[str, str, Any, int]] = [
    ("POST", "jobs/", job(), 201),
    ("POST", "jobs/", job(layers=[{"level": "rack", "size": 8}], plan={"tp": 4, "ep": 8, "dp": 4}, after=["j000082"], not_before=0), 201),
    ("POST", "jobs/", {"name": "x", "kind": "rl", "parts": [{"name": "a", "nodes": 4}, {"name": "b", "nodes": 2, "level": "rack"}]}, 201),
    ("POST", "jobs/bulk/", {"jobs": [job(), job(nodes=4)]}, 201),
    ("PUT", "policy/", {"policy": {"slice_size": 8}, "reason": "smaller", "expected_version": 1}, 200),
    ("POST", "inventory/", RACK, 200),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), RIGHT, ids=[f"{path}{place}" for place, (_, path, _, _) in enumerate(RIGHT)])
@pytest.mark.parametrize("query", [{}, {"dry_run": "true"}], ids=["done", "rehearsed"])
def test_writes_that_are_right_are_answered_as_described(
    calm: None, token: str, query: dict[str, Any], method: str, path: str, body: Any, status: int
) -> None:
    operation = schema[f"/api/v1/clusters/{{cluster}}/{path}"][method]
    media_type = "application/yaml" if isinstance(body, bytes) else "application/json"
    case = operation.Case(path_parameters={"cluster": "lab"}, query=query, body=body, media_type=media_type)
    answer = case.call_and_validate(headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == (200 if query else status)

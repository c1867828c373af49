"""The schema is sound, and answers are as it says."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from clusters.domain.commands import NodeVerb
from frontend.api import errors
from scheduling.services import node_mark, run_pass
from tests.api.calls import Api, job
from tests.support.plans import propose
from tests.support.shared import ROOT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """The schema, in which nothing is doubtful."""
    out = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    loaded: dict[str, Any] = yaml.safe_load(out.getvalue())
    return loaded


def test_the_schema_is_complete(schema: dict[str, Any]) -> None:
    operations = [operation for path in schema["paths"].values() for operation in path.values() if isinstance(operation, dict)]
    assert len({operation["operationId"] for operation in operations}) == len(operations) >= 15
    for operation in operations:
        assert "application/problem+json" in operation["responses"]["404"]["content"], operation["operationId"]


def test_the_schema_is_served_to_those_signed_in(user: Api, anonymous: Api) -> None:
    assert user.get("schema/").status == 200
    assert anonymous.get("schema/").status == 401


def test_answers_have_the_fields_that_the_schema_names(user: Api, cluster: str, schema: dict[str, Any]) -> None:
    name = user.post("clusters/lab/jobs/", job()).body["id"]
    run_pass(cluster)
    node_mark(cluster=cluster, node="r1-n01", verb=NodeVerb.FAIL, by="op")
    samples = {
        "/api/v1/clusters/": "clusters/",
        "/api/v1/clusters/{cluster}/": "clusters/lab/",
        "/api/v1/clusters/{cluster}/snapshot/": "clusters/lab/snapshot/",
        "/api/v1/clusters/{cluster}/policy/": "clusters/lab/policy/",
        "/api/v1/clusters/{cluster}/policy/history/": "clusters/lab/policy/history/",
        "/api/v1/clusters/{cluster}/events/": "clusters/lab/events/?limit=5",
        "/api/v1/clusters/{cluster}/capacity/": "clusters/lab/capacity/?sizes=8,16,18%2B16",
        "/api/v1/clusters/{cluster}/spares/": "clusters/lab/spares/",
        "/api/v1/clusters/{cluster}/teams/": "clusters/lab/teams/",
        "/api/v1/clusters/{cluster}/incidents/": "clusters/lab/incidents/",
        "/api/v1/clusters/{cluster}/breaker/": "clusters/lab/breaker/",
        "/api/v1/clusters/{cluster}/plans/": "clusters/lab/plans/",
        "/api/v1/clusters/{cluster}/plans/{plan}/": f"clusters/lab/plans/{propose(name)}/",
        "/api/v1/clusters/{cluster}/domains/": "clusters/lab/domains/",
        "/api/v1/clusters/{cluster}/domains/{domain}/": "clusters/lab/domains/r1/",
        "/api/v1/clusters/{cluster}/slices/": "clusters/lab/slices/",
        "/api/v1/clusters/{cluster}/racks/": "clusters/lab/racks/",
        "/api/v1/clusters/{cluster}/racks/{rack}/": "clusters/lab/racks/r1/",
        "/api/v1/clusters/{cluster}/nodes/": "clusters/lab/nodes/",
        "/api/v1/clusters/{cluster}/nodes/{node}/": "clusters/lab/nodes/r1-n01/",
        "/api/v1/clusters/{cluster}/nodes/{node}/signals/": "clusters/lab/nodes/r1-n01/signals/",
        "/api/v1/clusters/{cluster}/signals/sources/": "clusters/lab/signals/sources/",
        "/api/v1/clusters/{cluster}/jobs/": "clusters/lab/jobs/",
        "/api/v1/clusters/{cluster}/jobs/preview/": "clusters/lab/jobs/preview/?nodes=32",
        "/api/v1/clusters/{cluster}/jobs/{job}/": f"clusters/lab/jobs/{name}/",
        "/api/v1/clusters/{cluster}/jobs/{job}/assignment/": f"clusters/lab/jobs/{name}/assignment/",
        "/api/v1/clusters/{cluster}/jobs/{job}/why/": f"clusters/lab/jobs/{name}/why/",
        "/api/v1/clusters/{cluster}/jobs/{job}/launch/": f"clusters/lab/jobs/{name}/launch/",
        "/api/v1/clusters/{cluster}/parallel/": "clusters/lab/parallel/?ep=64&dp=2",
    }
    described = {path for path, operations in schema["paths"].items() if "get" in operations}
    assert described - samples.keys() == {"/api/v1/clusters/{cluster}/inventory/"}
    for path, sample in samples.items():
        content = schema["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        same_fields(user.get(sample).body, content, schema)


def test_the_guide_has_every_code_and_every_path(schema: dict[str, Any]) -> None:
    guide = (ROOT / "docs" / "guides" / "api.md").read_text(encoding="utf-8")
    table = guide.split("| status | when | codes |")[1].split("\n\n")[0]
    assert sorted(re.findall("`([a-z-]+)`", table.replace("`Retry-After`", ""))) == sorted(errors.TITLES)
    told = guide.split("## What there is")[1].split("### Lists")[0]
    for path in schema["paths"]:
        tail = path.removeprefix("/api/v1/clusters/{cluster}/").removesuffix("{verb}/")
        name = re.sub(r"\{(\w+)\}", lambda match: match[1].upper(), tail)
        assert f"`{name}" in told, path


def test_what_errors_are_told_by_is_in_the_list() -> None:
    """What comes to the other tests of the API is looked at there, by `calls.read`."""
    assert {kind.code for kind in errors._STATUS} | {
        code for _, _, code, _ in errors._OTHERS
    } | errors._REFUSED.keys() <= errors.TITLES.keys()


KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}


def same_fields(value: Any, described: dict[str, Any], schema: dict[str, Any]) -> None:
    """Walk a value and its description together."""
    if "$ref" in described:
        described = schema["components"]["schemas"][described["$ref"].rpartition("/")[2]]
    if "anyOf" in described:
        options = [option for option in described["anyOf"] if option.get("type") != "null"] if value is not None else [{}]
        fitting = [option for option in options if "type" not in option or isinstance(value, KINDS[option["type"]])]
        assert fitting
        same_fields(value, fitting[0], schema)
    elif "properties" in described:
        assert value.keys() <= described["properties"].keys()
        assert set(described.get("required", ())) <= value.keys()
        for field, inner in value.items():
            same_fields(inner, described["properties"][field], schema)
    elif described.get("type") == "array" and isinstance(described.get("items"), dict):
        for inner in value:
            same_fields(inner, described["items"], schema)
    elif "type" in described:
        assert isinstance(value, KINDS[described["type"]])

"""S5: the same request through every way in gets the same slices, and what can never fit is refused at submission with the reason.

The ways: the form of the page, REST, the command line, the simulator's fleet; beside them the engine alone, which says what is right.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from clusters.connectors.simulated.options import FleetOptions
from clusters.connectors.simulated.truth import FINISHED
from clusters.domain.decision import Refusal
from clusters.domain.events import NewEvent
from clusters.domain.ids import HOUR, MINUTE
from clusters.domain.inventory_events import Arrival, ArrivalsPlanned
from clusters.eventlog.live import live
from clusters.eventlog.store import append_facts, create_cluster
from frontend.jobrequests import request_of
from scheduling.services import job_submit, run_pass
from tests.domain.fleet.stage import NAME as STAGE
from tests.domain.fleet.stage import START, Stage
from tests.support.world import World, inventory, racks

pytestmark = pytest.mark.django_db

NAME = "same"
Slices = list[list[str | None]]

#: Requests as the API takes them; each also has a name and a kind.
REQUESTS: dict[str, dict[str, Any]] = {
    "two slices": {"nodes": 32},
    "even ones": {"nodes": 24},
    "a tail": {"nodes": 20, "slice_size": 8, "tail": True},
    "layers": {"nodes": 32, "layers": [{"level": "rack", "size": 8}]},
    "one rack": {"nodes": 12, "level": "rack", "mode": "required"},
    "racks of its own": {"nodes": 20, "max_slice": 10, "exclusive": True, "spares": 0},
    "a plan": {"plan": {"tp": 4, "ep": 8, "dp": 2}, "time_limit_s": 7200},
    "parts": {
        "kind": "rl",
        "parts": [
            {"name": "trainer", "nodes": 16, "slice_size": 8, "level": "rack", "mode": "required"},
            {"name": "rollout", "nodes": 8, "max_slice": 4},
        ],
    },
    "GPUs": {"gpus": 3},
}


@pytest.fixture
def client() -> Client:
    """A signed-in user of a cluster of four racks."""
    create_cluster(NAME)
    append_facts(NAME, [NewEvent(payload, 0, "import", str(number)) for number, payload in enumerate(inventory(racks(4)))])
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


def plain(request: dict[str, Any]) -> dict[str, Any]:
    return {"name": "work", "kind": "training", **request}


def typed(request: dict[str, Any]) -> dict[str, str]:
    """What somebody types into the form for it."""
    fields = {
        "name": "work",
        "kind": "training",
        "unit": "gpus" if "gpus" in request else "nodes",
        "recovery": "checkpoint",
        "restartable": "on",
    }
    for name, value in request.items():
        if name == "layers":
            fields["layers"] = ", ".join(f"{layer['level']} {layer['size']}" for layer in value)
        elif name == "plan":
            fields |= {f"plan_{degree}": str(number) for degree, number in value.items()}
        elif name == "parts":
            fields |= {f"part_{row}_{field}": str(inner) for row, part in enumerate(value) for field, inner in part.items()}
        elif name == "time_limit_s":
            fields["time_limit"] = f"{value} s"
        else:
            fields[name] = "on" if value is True else str(value)
    return fields


def _page(client: Client, request: dict[str, Any]) -> str:
    answer = client.post(f"/clusters/{NAME}/jobs/new/", typed(request))
    return "" if answer.status_code == 302 else answer.content.decode()


def _api(client: Client, request: dict[str, Any]) -> str:
    answer = client.post(f"/api/v1/clusters/{NAME}/jobs/", plain(request), "application/json")
    return "" if answer.status_code == 201 else answer.content.decode()


def _command(_: Client, request: dict[str, Any]) -> str:
    file = Path("job.json")
    file.write_text(json.dumps(plain(request)), encoding="utf-8")
    try:
        call_command("submit", str(file), cluster=NAME, stdout=io.StringIO())
    except CommandError as error:
        return str(error)
    return ""


def _service(_: Client, request: dict[str, Any]) -> str:
    outcome = job_submit(cluster=NAME, request=request_of(plain(request)), by="ada")
    return outcome.message if isinstance(outcome, Refusal) else ""


WAYS: dict[str, Callable[[Client, dict[str, Any]], str]] = {"page": _page, "api": _api, "command": _command, "service": _service}


def slices(cluster: str = NAME) -> Slices:
    run_pass(cluster)
    with live(cluster).reading() as state:
        (job,) = state.jobs.values()
        return [part.nodes for part in job.slices]


def right(request: dict[str, Any]) -> Slices:
    """What the engine alone gives."""
    return [part.nodes for part in World(racks(4)).run(request_of(plain(request))).slices]


def test_the_engine_gives_what_the_design_says() -> None:
    assert right({"nodes": 32}) == [[f"r{rack}-n{node}" for node in range(1, 17)] for rack in (1, 2)]


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_places_the_same_nodes(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert WAYS[way](client, REQUESTS[name]) == ""
    assert slices() == right(REQUESTS[name])


@pytest.mark.parametrize("name", REQUESTS)
def test_a_trace_of_the_simulator_places_the_same_nodes(name: str) -> None:
    stage = Stage(4, FleetOptions(failures_per_node_day=0))
    item = Arrival(row=0, offset=MINUTE, request=request_of(plain(REQUESTS[name])), duration=HOUR, outcome=FINISHED)
    stage.log.append_facts(STAGE, [NewEvent(ArrivalsPlanned(plan="p", base=START, items=(item,)), START, "trace:p", "0")])
    stage.play(START + 2 * MINUTE)
    with stage.log.live(STAGE).reading() as state:
        (job,) = state.jobs.values()
        placed = [[re.sub("([rn])0+", r"\1", str(node)) for node in part.nodes] for part in job.slices]
    assert placed == right(REQUESTS[name])


#: What four racks of 18 nodes could never serve, and what would be right.
NEVER: dict[str, tuple[dict[str, Any], str]] = {
    "too many nodes": ({"nodes": 100}, "ive at most 64 nodes"),
    "a level that is not there": ({"nodes": 8, "level": "row", "mode": "required"}, "ive one of"),
    "a class that is not there": ({"nodes": 8, "priority_class": "gold"}, "ive one of"),
    "a layer wider than a rack": (
        {"nodes": 36, "slice_size": 9, "layers": [{"level": "rack", "size": 36}]},
        "o rack holds 36 nodes in such slices",
    ),
    "a rack for two slices": ({"nodes": 32, "level": "rack", "mode": "required"}, "ive at most 18 nodes, or prefer the rack"),
}


@pytest.mark.parametrize("name", NEVER)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_refuses_what_can_never_fit_with_what_would(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    request, reason = NEVER[name]
    told = WAYS[way](client, request)
    assert reason in told
    with live(NAME).reading() as state:
        assert not state.jobs

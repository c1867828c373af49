"""Imports that would take away what jobs run on: refused for a simulated fleet, pointed out for any other cluster."""

from __future__ import annotations

import pytest

from clusters.connectors.simulated.creation import Shape, create_simulated
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.errors import InvalidRequest
from clusters.eventlog.store import default_log
from clusters.inventory.model import TooManyAbsent
from clusters.inventory.service import inventory_import
from scheduling.services import job_submit, run_pass
from tests.support.world import ask

pytestmark = pytest.mark.django_db

TWO_RACKS = b"gpus: 4\nracks: [{name: r1, nodes: 'a[1-4]'}, {name: r2, nodes: 'b[1-4]'}]\n"
ONE_RACK = b"gpus: 4\nracks: [{name: r2, nodes: 'b[1-4]'}]\n"


def test_the_racks_of_a_simulated_fleet_are_its_own() -> None:
    create_simulated("sim", Shape(racks=1), FleetOptions(), by="test")
    head = default_log().head("sim")
    with pytest.raises(InvalidRequest, match="not simulated"):
        inventory_import(cluster="sim", content=TWO_RACKS, filename="file.yaml", by="ada")
    assert default_log().head("sim") == head


def test_a_file_without_nodes_that_jobs_run_on_says_so() -> None:
    inventory_import(cluster="c1", content=TWO_RACKS, filename="file.yaml", by="ada", create=True)
    job_submit(cluster="c1", request=ask(4), by="ada")
    run_pass("c1")
    report = inventory_import(cluster="c1", content=ONE_RACK, filename="file.yaml", by="ada", dry_run=True)
    assert [problem.message for problem in report.problems] == [
        "4 of 8 nodes are not in this file and become absent, some of them used by jobs (1); look whether this is the whole file"
    ]


def test_a_file_without_many_of_the_nodes_says_so_and_is_refused_where_that_is_not_allowed() -> None:
    inventory_import(cluster="c1", content=TWO_RACKS, filename="file.yaml", by="ada", create=True)
    told = "4 of 8 nodes are not in this file and become absent; look whether this is the whole file"
    report = inventory_import(cluster="c1", content=ONE_RACK, filename="file.yaml", by="ada", dry_run=True, allow_absent=False)
    assert [(problem.message, problem.fatal) for problem in report.problems] == [(told, False)]
    head = default_log().head("c1")
    with pytest.raises(TooManyAbsent) as refused:
        inventory_import(cluster="c1", content=ONE_RACK, filename="file.yaml", by="ada", allow_absent=False)
    assert [problem.message for problem in refused.value.problems] == [told]
    assert default_log().head("c1") == head
    assert [problem.message for problem in inventory_import(cluster="c1", content=ONE_RACK, filename="file.yaml", by="ada").problems] == [
        told
    ]


def test_a_few_missing_nodes_are_no_problem() -> None:
    inventory_import(cluster="c1", content=TWO_RACKS, filename="file.yaml", by="ada", create=True)
    most = TWO_RACKS.replace(b"b[1-4]", b"b[1-3]")
    assert not inventory_import(cluster="c1", content=most, filename="file.yaml", by="ada", allow_absent=False).problems

"""Imports that would take away what jobs run on: refused for a simulated fleet, pointed out for any other cluster."""

from __future__ import annotations

import pytest

from clusters.connectors.simulated.creation import Shape, create_simulated
from clusters.connectors.simulated.options import FleetOptions
from clusters.domain.errors import InvalidRequest
from clusters.eventlog.store import default_log
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
        "4 nodes of the cluster are missing here, some of them used by jobs (1); look whether this is the whole file"
    ]

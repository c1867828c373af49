"""`manage.py capacity` as people type it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from clusters.domain.events import NewEvent, Payload
from clusters.domain.health_events import NodeFailed, NodeRecovered
from clusters.domain.ids import DAY
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.domain.jobs import JobKind, JobRequest
from clusters.eventlog.store import append_facts, create_cluster
from scheduling.services import job_submit, run_pass

ANCHOR = ("--racks", "128", "--nodes-per-rack", "18", "--unavailability", "0.02")


def run(*words: str) -> str:
    out = io.StringIO()
    call_command("capacity", *words, stdout=out)
    return out.getvalue()


def report(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json"))
    return found


# ---- the model alone


def test_the_figures_are_printed_by_slice_size() -> None:
    found = report(*ANCHOR, "--slices", "8,9,16,18")
    assert found["usable"] == {"8": 2042.7, "9": 1952.8, "16": 2037.3, "18": 1601.6}
    assert found["advice"] is None
    assert "measured" not in found


def test_other_sizes_and_other_outages() -> None:
    assert report(*ANCHOR, "--slices", "18+16,17")["usable"] == {"18+16": 2215.3, "17": 2068.3}
    assert report(*ANCHOR, "--rho", "0.05", "--slices", "16,18")["usable"] == {"16": 1984.8, "18": 1776.3}
    assert report(*ANCHOR, "--whole-rack-share", "0.5", "--slices", "16,18")["usable"] == {"16": 2026.0, "18": 1900.0}


def test_the_table_is_readable_and_has_the_caveat() -> None:
    text = run(*ANCHOR)
    lines = [line.split() for line in text.splitlines()]
    assert ["16", "2,037.3", "88.4%", "13.0", "2,000", "125"] in lines
    assert "from 0.65% unavailability on 16 beats 18" in text
    assert "interruptions: one in 490 days a node, 27.2 days a rack, 5.1 h the fleet (4.7 a day)" in text
    assert "note: 16-node slices use 27 % more nodes than 18-node ones at 2 % unavailability with independent failures" in text


def test_advice_is_for_the_jobs_named() -> None:
    assert report(*ANCHOR, "--jobs", "32,64:8")["advice"]["size"] == 16
    text = run(*ANCHOR, "--jobs", "32")
    assert "advice: slices of 16\n" in text
    assert "18: 2,037.3 nodes for these jobs (no job of the mix makes a slice of 18 nodes: theirs have 16)" in text
    assert "advice: no size is of use to these jobs, of slices of 8 to 18 nodes" in run(*ANCHOR, "--jobs", "4")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--racks", "0", "--unavailability", "0.02"), "racks: 0 is not valid; give a whole number from 1 to 100000"),
        (("--racks", "many"), "--racks: 'many' is not valid; give a whole number, such as 18"),
        (("--racks", "2", "--nodes-per-rack", "0", "--unavailability", "0"), "nodes_per_rack: 0 is not valid; give a whole number"),
        (("--racks", "2", "--unavailability", "2"), "unavailability: 2.0 is not valid; give a share from 0 to 1, such as 0.02 for 2 %"),
        (("--racks", "2", "--unavailability", "2%"), "--unavailability: '2%' is not valid; give a number, such as 0.02"),
        ((*ANCHOR, "--rho", "7"), "rho: 7.0 is not valid; give a share from 0 to 1"),
        ((*ANCHOR, "--whole-rack-share", "-1"), "whole_rack_share: -1.0 is not valid; give a share from 0 to 1"),
        ((*ANCHOR, "--slices", "16,x"), "--slices: '16,x' is not valid at 'x'; give whole numbers, such as 8,9,16,18"),
        ((*ANCHOR, "--slices", ""), "--slices: '' is not valid at ''; give whole numbers"),
        ((*ANCHOR, "--slices", "0"), "slices: 0 is not valid; give a whole number from 1 to 1024"),
        ((*ANCHOR, "--jobs", "32:"), "--jobs: '32:' is not valid at ''; give whole numbers, such as 32,64:8"),
        ((*ANCHOR, "--jobs", "33:16"), "nodes: 33 is not valid; give a multiple of slice_size (16)"),
        ((*ANCHOR, "--node-days", "0"), "node_days: 0.0 is not valid; give a number of days above 0"),
        (("--unavailability", "0.02"), "--racks is missing; give it, such as --racks 128, or name a cluster with --cluster"),
        (("--racks", "2"), "--unavailability is missing; give it, such as --unavailability 0.02"),
        (("--racks", "2", "--cluster", "x"), "--racks 2 and --cluster x exclude each other; the cluster has racks of its own"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(*words)
    assert message in str(caught.value)


# ---- a cluster


def tell(cluster: str, day: float, *payloads: Payload) -> None:
    at = int(day * DAY)
    append_facts(cluster, [NewEvent(payload, at, "fleet", f"{at} {payload}"[:128]) for payload in payloads])


@pytest.fixture
def cluster(transactional_db: None) -> str:
    """Eight racks over 100 days, in which each lost a node for ten days; a job of 32 nodes was placed at the end."""
    create_cluster("worn", cluster_time=0, speed=1)
    tell("worn", 0, *(RackRegistered(rack=f"r{rack}", block="b1", switch_trays=9) for rack in range(8)))
    nodes = [(f"r{rack}-n{node}", f"r{rack}") for rack in range(8) for node in range(18)]
    tell("worn", 0.0001, *(NodeRegistered(node=node, rack=rack, domain=rack, gpus=4) for node, rack in nodes))
    for rack in range(8):
        tell("worn", 10 * rack + 1, NodeFailed(node=f"r{rack}-n3", reason="fell off the bus"))
        tell("worn", 10 * rack + 11, NodeRecovered(node=f"r{rack}-n3", reason="exchanged"))
    tell("worn", 100, NodeFailed(node="r0-n0", reason="fell off the bus"))
    request = JobRequest(name="train", kind=JobKind.TRAINING, nodes=32)
    assert isinstance(job_submit(cluster="worn", request=request, by="ada"), str)
    run_pass("worn")
    tell("worn", 101, NodeRecovered(node="r0-n0", reason="exchanged"))
    return "worn"


def test_a_cluster_is_read_from_its_own_log(cluster: str) -> None:
    found = report("--cluster", cluster)
    seen = found["measured"]
    away = (8 * 10 + 1) / (8 * 18 * 101)
    assert found["cluster"] == cluster
    assert found["domains"] == [{"nodes": 18, "count": 8}]
    assert found["unavailability"] == pytest.approx(away, rel=1e-4)
    assert seen["unavailability"]["value"] == pytest.approx(away, abs=1e-5)
    assert seen["unavailability"]["low"] < away < seen["unavailability"]["high"]
    assert seen["interruptions"]["count"] == 9
    assert seen["interruptions"]["node_days"]["value"] == pytest.approx(8 * 18 * 101 / 9, abs=0.1)
    assert found["interruptions"]["node_days"] == seen["interruptions"]["node_days"]["value"]
    assert seen["usable"]["16"]["value"] == 128.0
    assert seen["usable_now"] == {"8": 128, "9": 144, "16": 128, "18": 144}


def test_advice_is_for_the_jobs_that_ran(cluster: str) -> None:
    assert report("--cluster", cluster)["advice"]["size"] == 16
    assert report("--cluster", cluster, "--jobs", "18")["advice"]["size"] == 9


def test_what_is_given_overrides_the_log(cluster: str) -> None:
    found = report("--cluster", cluster, "--unavailability", "0.02", "--rho", "0.1", "--node-days", "490")
    assert (found["unavailability"], found["rho"]) == (0.02, 0.1)
    assert found["interruptions"]["rack_days"] == 27.2


def test_the_table_of_a_cluster_says_what_was_measured_and_what_could_not_be(cluster: str) -> None:
    text = run("--cluster", cluster)
    assert text.startswith("worn: 8 x 18 nodes = 144; unavailability 0.56%")
    assert "  9 failures; days a rack: " in text
    assert "correlation -0.006 (no interval: two nodes of a domain unavailable at once was seen in 0.0 domains in effect" in text
    assert "caution: no whole rack was ever away" in text


def test_a_cluster_without_time_or_nodes_says_what_to_do(transactional_db: None) -> None:
    create_cluster("empty")
    with pytest.raises(CommandError, match="cluster 'empty' has no nodes in a known domain; import an inventory"):
        run("--cluster", "empty")
    with pytest.raises(CommandError, match="nowhere"):
        run("--cluster", "nowhere")
    tell("empty", 1, NodeRegistered(node="n1", rack="r1", domain="r1", gpus=4))
    with pytest.raises(CommandError, match=r"the log of cluster 'empty' covers no time yet; give --unavailability, such as 0.02"):
        run("--cluster", "empty")
    assert report("--cluster", "empty", "--unavailability", "0.02", "--slices", "1")["usable"] == {"1": 1.0}

"""A cluster of four racks in the installation's log, for tests of pages and API."""

from __future__ import annotations

from clusters.domain.events import NewEvent, Payload
from clusters.domain.inventory_events import NodeRegistered, RackRegistered
from clusters.domain.job_events import JobFinished, WorkStarted, WorkStopped
from clusters.domain.state import NO_ENGINE
from clusters.eventlog.live import live
from clusters.eventlog.projections import project
from clusters.eventlog.store import append_facts, create_cluster

NAME = "lab"
RACKS = 4
NODES = 18


def make_lab(connector: str = NO_ENGINE) -> str:
    """Racks r1 to r4, 18 nodes of 4 GPUs each, a domain each, two racks a block."""
    create_cluster(NAME, connector=connector, by="test")
    payloads: list[Payload] = []
    for rack in range(1, RACKS + 1):
        payloads.append(RackRegistered(rack=f"r{rack}", block=f"b{(rack + 1) // 2}", switch_trays=9))
        names = (f"r{rack}-n{node:02d}" for node in range(1, NODES + 1))
        payloads += [NodeRegistered(node=name, rack=f"r{rack}", domain=f"r{rack}", gpus=4, product="GB200") for name in names]
    report(*payloads, at=0)
    return NAME


def report(*payloads: Payload, at: int = 10**15) -> None:
    """Facts, as a connector reports them."""
    head = live(NAME).catch_up().seq
    append_facts(NAME, [NewEvent(payload, at + place, "test", f"{head}/{place}") for place, payload in enumerate(payloads)])


def start(job: str) -> None:
    """The work of a placed job runs everywhere."""
    state = live(NAME).catch_up()
    report(WorkStarted(job=job, generation=state.jobs[job].generation, nodes=tuple(state.jobs[job].held_nodes)))


def finish(job: str) -> None:
    """The job ends well, and its work stops."""
    held = live(NAME).catch_up().jobs[job]
    nodes = tuple(held.held_nodes)
    report(JobFinished(job=job, generation=held.generation), WorkStopped(job=job, generation=held.generation, nodes=nodes))


def project_all() -> None:
    """Bring the projections to the head."""
    while project(NAME):
        pass

"""The dense state that placement works on, built anew from the nodes, jobs and reservations of a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.domain.books import Condition
from clusters.domain.exclusive import closed_domains
from clusters.domain.jobs import ACTIVE
from clusters.domain.space import Space, last_failures
from clusters.domain.topology import Site, build_topology

if TYPE_CHECKING:
    from clusters.domain.state import ClusterState, Job, Node


def build_space(state: ClusterState) -> Space:
    """The dense state at the state's position; it depends on nothing that was built before."""
    space = Space(build_topology(_site(state, node) for node in state.nodes.values()))
    space.at = state.seq
    space.stamp = [state.seq] * len(space.stamp)
    for index, site in enumerate(space.topology.nodes):
        _fill(state, space, index, state.nodes[site.name])
    failed = (state.nodes[site.name].failed_at for site in space.topology.nodes)
    space.failures = last_failures(zip(failed, space.topology.domain_of, strict=True))
    space.closed = closed_domains(state, space.topology)
    for reservation in state.reservations.values():
        for name in reservation.nodes:
            if name in space.topology.index:
                space.reserve(space.topology.index[name])
    for job in state.jobs.values():
        for number in wanting_slices(job):
            domain = space.topology.domain_index.get(job.slices[number].domain)
            if domain is not None:
                space.add_want(domain, job.request.spares)
    return space


def _fill(state: ClusterState, space: Space, index: int, node: Node) -> None:
    space.set_placeable(index, node.placeable, degraded=node.condition is Condition.DEGRADED)
    if node.failures >= state.policy.offender_failures:
        space.set_offender(index)
    if node.job:
        space.take(index)
    for gpus in node.shares.values():
        space.take_gpus(index, gpus)


def _site(state: ClusterState, node: Node) -> Site:
    rack = state.racks.get(node.rack)
    return Site(name=node.name, block=rack.block if rack else "", rack=node.rack, domain=node.domain, gpus=node.gpus)


def wanting_slices(job: Job) -> range:
    """The slices for which their domains owe spares: those of a placed job on more than one node."""
    return range(len(job.slices) if job.state in ACTIVE and job.width > 1 else 0)

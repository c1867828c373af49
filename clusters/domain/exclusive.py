"""Exclusive work: while it runs in a domain, no other work enters.

A domain is closed as long as such a job has a slice there that it wants to keep, or work there that has not stopped yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.domain.jobs import ACTIVE
from clusters.domain.topology import Topology

if TYPE_CHECKING:
    from clusters.domain.state import ClusterState, Job


def refresh_closed(state: ClusterState, job: Job) -> None:
    """Tell the dense state after an exclusive job has got, lost or given up nodes."""
    space = state.built_space
    if job.request.exclusive and space is not None:
        space.closed = closed_domains(state, space.topology)


def closed_domains(state: ClusterState, topology: Topology) -> int:
    """Mask of all domains that are closed to others."""
    mask = 0
    for name in state.exclusive:
        mask |= closed_by(state, state.jobs[name], topology)
    return mask


def closed_by(state: ClusterState, job: Job, topology: Topology) -> int:
    """Mask of the domains that the job closes to others; 0 unless it is exclusive."""
    if not job.request.exclusive:
        return 0
    domains = {part.domain for part in job.slices} if job.state in ACTIVE else set()
    domains |= {state.nodes[name].domain or "" for name in job.held_nodes}
    return sum(1 << topology.domain_index[domain] for domain in domains if domain in topology.domain_index)

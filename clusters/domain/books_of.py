"""Reading the books: the condition and the use of each node at the state's position."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from clusters.domain.books import CONDITIONS, USES, Condition, Use
from clusters.domain.slices import domain_slice
from clusters.domain.state import ClusterState, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """Nodes by condition and by use; each sums to `nodes`."""

    nodes: int
    condition: dict[Condition, int]
    use: dict[Use, int]


def read_books(state: ClusterState) -> Books:
    """Both partitions of the whole cluster."""
    conditions = Counter(node.condition for node in state.nodes.values())
    uses = Counter(use for domain in range(len(state.topology.domains)) for use in domain_uses(state, domain))
    return Books(
        nodes=len(state.nodes),
        condition={condition: conditions[condition] for condition in CONDITIONS},
        use={use: uses[use] for use in USES},
    )


def domain_uses(state: ClusterState, domain: int) -> list[Use]:
    """The use of each node of a domain, in index order."""
    topology = state.topology
    group = topology.domains[domain]
    free_uses = _free_uses(state, domain)
    uses: list[Use] = []
    for bit in range(group.size):
        node = state.nodes[topology.nodes[group.first + bit].name]
        uses.append(free_uses.get(bit) or _taken_use(state, node))
    return uses


def holder_of(node: Node) -> str:
    """The job shown on a node: its owner, or the first of those that share it; "" for none."""
    return node.job or min(node.shares, default="")


def _taken_use(state: ClusterState, node: Node) -> Use:
    """The use of a node that is in use, or that may not be used."""
    holders = [node.job] if node.job else list(node.shares)
    if not holders:
        return Use.OUT
    if all(_is_stopping(state, job, node.name) for job in holders):
        return Use.STOPPING
    if node.name in state.lent:
        return Use.LENT
    return Use.ALLOCATED if node.job else Use.SHARED


def _is_stopping(state: ClusterState, job_name: str, node_name: str) -> bool:
    job = state.jobs[job_name]
    return job.holders_stop or node_name in job.leaving


def _free_uses(state: ClusterState, domain: int) -> dict[int, Use]:
    """Bit -> use of the domain's free nodes: the reserved ones; of the others the last owed ones are spares, whole slices idle, the rest
    stranded."""
    space = state.space
    reserved = space.free[domain] & space.reserved[domain]
    free = space.free[domain] & ~reserved
    bits = [bit for bit in range(free.bit_length()) if free >> bit & 1]
    others = max(0, len(bits) - space.owed(domain, state.policy))
    size = domain_slice(space.topology.domains[domain].size, state.policy)
    idle = others // size * size
    uses = {bit: Use.IDLE if place < idle else Use.STRANDED if place < others else Use.SPARE for place, bit in enumerate(bits)}
    return uses | {bit: Use.RESERVED for bit in range(reserved.bit_length()) if reserved >> bit & 1}

"""The nodes of an assignment in rank order, as launchers count them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from scheduling.launch.assignment import Launch

#: Where torch.distributed listens by default.
MASTER_PORT = 29_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One node and its ranks, which are beside each other."""

    node: str
    number: int  # the launchers' node rank
    first: int  # rank
    gpus: tuple[int, ...]  # indexes, in rank order

    @property
    def ranks(self) -> int:
        """Processes on the node: one for each of the job's GPUs."""
        return len(self.gpus)


def hosts_of(launch: Launch) -> list[Host]:
    """All nodes; the assignment must be complete."""
    hosts: list[Host] = []
    for _, members in groupby(launch.ranks.ranks, key=lambda rank: (rank.slice, rank.slot)):
        ranks = list(members)
        node = ranks[0].node or ""
        hosts.append(Host(node=node, number=len(hosts), first=ranks[0].rank, gpus=tuple(rank.gpu for rank in ranks)))
    return hosts


def master_port(hosts: list[Host]) -> int:
    """A port that no other job on the first node gets: it follows from the job's first GPU there, which has one owner."""
    return MASTER_PORT + hosts[0].gpus[0]


def sorts_in_order(hosts: list[Host]) -> bool:
    """Whether the nodes sort by name in rank order.

    PyTorch's c10d rendezvous gives node ranks by sorted host names (torch/distributed/elastic/rendezvous/dynamic_rendezvous.py,
    `_mark_rendezvous_complete`), whatever NODE_RANK says.
    """
    names = [host.node for host in hosts]
    return names == sorted(names)

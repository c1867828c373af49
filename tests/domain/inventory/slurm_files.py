"""Builders of what Slurm prints, and of its topology files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from clusters.domain.events import Payload
from clusters.inventory.model import Inventory, Known, Options
from tests.domain.inventory.files import NOBODY, Cluster, Item, read

TWO_RACKS = "BlockName=r1 Nodes=a[1-3]\nBlockName=r2 Nodes=b[1-3]\nBlockSizes=3\n"


def slurm_node(name: str, *states: str, gres: object = "gpu:gb200:4", reason: str = "", **more: object) -> Item:
    """A node as slurmrestd prints it."""
    item: Item = {"name": name, "hostname": name, "state": list(states or ("IDLE",)), "gres": gres, "gres_drained": "N/A"}
    return item | {"tres": "cpu=64,mem=128G,billing=64", "reason": reason, "features": [], "instance_type": ""} | more


def slurm_answer(items: Iterable[object], **more: object) -> bytes:
    return json.dumps({"nodes": list(items), "last_update": {"set": True, "infinite": False, "number": 1}, "meta": {}} | more).encode()


def with_topology(text: str | None) -> Options:
    return Options(topology=None if text is None else text.encode())


def read_slurm(items: Iterable[object], topology: str | None = None, known: Known = NOBODY) -> Inventory:
    return read(slurm_answer(items), known, with_topology(topology))


def take_slurm(cluster: Cluster, items: Iterable[object], topology: str | None = None) -> list[Payload]:
    return cluster.take(slurm_answer(items), with_topology(topology))


def racks_of(names: Sequence[str]) -> list[Item]:
    return [slurm_node(name) for name in names]

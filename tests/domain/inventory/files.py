"""Builders of inventory files, and the fold that tells what a cluster knows after importing them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clusters.domain.events import Event, Payload, subject_of
from clusters.domain.evolve import evolve
from clusters.domain.health import IMPORT_SOURCE
from clusters.domain.state import ClusterState
from clusters.inventory.delta import delta, known_from
from clusters.inventory.model import Inventory, Known, Options
from clusters.inventory.reading import read_inventory

Item = dict[str, object]
NOBODY = Known()
PLAIN = Options()


def fabric(number: int, clique: int = 1) -> str:
    return f"0a{number:06d}-0000-4000-8000-000000000001.{clique}"


def node(
    name: str,
    labels: Mapping[str, object] | None = None,
    *,
    gpus: int | str | None = 4,
    ready: str | None = "True",
    taints: Sequence[Mapping[str, str]] = (),
    cordoned: bool = False,
) -> Item:
    """A node as Kubernetes prints it; `ready` None has no condition at all."""
    spec: Item = {"taints": list(taints)}
    if cordoned:
        spec["unschedulable"] = True
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "reason": "KubeletSaysSo"}]
    capacity: dict[str, str] = {} if gpus is None else {"nvidia.com/gpu": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": spec,
        "status": {"capacity": {"cpu": "144"} | capacity, "conditions": conditions},
    }


def tray(name: str, number: int, labels: Mapping[str, object] | None = None, **more: Any) -> Item:
    """A GB200 tray on fabric `number`."""
    own: dict[str, object] = {"nvidia.com/gpu.product": "NVIDIA-GB200", "nvidia.com/gpu.clique": fabric(number)}
    return node(name, own | dict(labels or {}), **more)


def hgx(name: str, labels: Mapping[str, object] | None = None, *, gpus: int | str = 8) -> Item:
    """An 8-GPU server."""
    own: dict[str, object] = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    return node(name, own | dict(labels or {}), gpus=gpus)


def node_list(items: Iterable[object]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": list(items)}).encode()


def read(content: bytes | str, known: Known = NOBODY, options: Options = PLAIN) -> Inventory:
    return read_inventory(content.encode() if isinstance(content, str) else content, options, known)


def read_nodes(items: Iterable[object], known: Known = NOBODY, options: Options = PLAIN) -> Inventory:
    return read(node_list(items), known, options)


def messages(inventory: Inventory, *, fatal: bool) -> list[str]:
    return [str(problem) for problem in inventory.problems if problem.fatal is fatal]


class Cluster:
    """A cluster that only imports and what a test appends ever happened to."""

    def __init__(self) -> None:
        self.state = ClusterState()

    @property
    def known(self) -> Known:
        return known_from(self.state)

    def append(self, payload: Payload, source: str = IMPORT_SOURCE) -> None:
        seq = self.state.seq + 1
        kind, subject = type(payload).__name__, subject_of(payload)
        evolve(self.state, Event(seq, kind, 1, seq, seq, subject, payload, source, str(seq), None, None, ""))

    def take(self, content: bytes | str, options: Options = PLAIN) -> list[Payload]:
        """Import a file; returns the facts it led to."""
        inventory = read(content, self.known, options)
        assert not inventory.refused, messages(inventory, fatal=True)
        events = delta(self.known, inventory)
        for payload in events:
            self.append(payload)
        return events

    def take_nodes(self, items: Iterable[object], options: Options = PLAIN) -> list[Payload]:
        return self.take(node_list(items), options)

    def racks(self) -> dict[str, str]:
        return {name: found.rack for name, found in self.state.nodes.items()}

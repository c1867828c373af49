"""What a request may ask of where it runs: levels, nested layers, parts, and the groups of its parallelism."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from clusters.domain.errors import InvalidRequest

MAX_NODES = 100_000
MAX_LAYERS = 4
MAX_PARTS = 8
MAX_GROUP = 1_000_000
MAX_NAME = 64


class LevelMode(StrEnum):
    """How strictly a request keeps to one group of its level."""

    REQUIRED = "required"  # in one group, or it waits
    PREFERRED = "preferred"  # in one group where one has room, else in as few as possible
    ANY = "any"  # as few as possible, at every level


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Each run of `size` nodes, in rank order, lies in one group of the level."""

    level: str  # "block" or "rack", or another level of the topology above the domain
    size: int  # nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPart:
    """One part of a job whose parts differ: the trainer of an RL job, its rollout nodes."""

    name: str
    nodes: int
    slice_size: int | None = None
    max_slice: int | None = None
    level: str = ""
    mode: LevelMode = LevelMode.ANY


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelPlan:
    """How a job's ranks work together: tensor x expert x pipeline x data parallel, one rank for each GPU.

    Ranks run tensor-parallel first, then expert, pipeline and data parallel: a TP x EP group is a run of ranks beside each other. It must
    lie in one domain; PP and DP tolerate the slower network.
    """

    tp: int = 1
    ep: int = 1
    pp: int = 1
    dp: int = 1

    @property
    def group(self) -> int:
        """GPUs of one TP x EP group, which may not leave its domain."""
        return self.tp * self.ep

    @property
    def gpus(self) -> int:
        """GPUs of the whole plan."""
        return self.tp * self.ep * self.pp * self.dp

    def __post_init__(self) -> None:
        """Refuse degrees out of range; raises InvalidRequest."""
        for name in ("tp", "ep", "pp", "dp"):
            degree = getattr(self, name)
            if not 1 <= degree <= MAX_GROUP:
                raise InvalidRequest(f"plan.{name}", degree, f"give a whole number from 1 to {MAX_GROUP}")


def check_layers(layers: tuple[Layer, ...], unit: int) -> None:
    """Layers come outermost first and each is a multiple of the next, the last of the slice unit; raises InvalidRequest."""
    if len(layers) > MAX_LAYERS:
        raise InvalidRequest("layers", len(layers), f"give at most {MAX_LAYERS} layers")
    if len({layer.level for layer in layers}) < len(layers):
        raise InvalidRequest("layers", [layer.level for layer in layers], "name each level once")
    for place, layer in enumerate(layers):
        if not 1 <= layer.size <= MAX_NODES:
            raise InvalidRequest(f"layers[{place}].size", layer.size, f"give a whole number from 1 to {MAX_NODES}")
    for place, (outer, inner) in enumerate(pairwise(layers)):
        if outer.size % inner.size:
            raise InvalidRequest(f"layers[{place}].size", outer.size, f"give a multiple of the layer inside it ({inner.size})")
    if layers and layers[-1].size % unit:
        raise InvalidRequest(f"layers[{len(layers) - 1}].size", layers[-1].size, f"give a multiple of slice_size ({unit})")


def check_parts(parts: tuple[JobPart, ...], nodes: int | None) -> None:
    """Parts have names of their own and make up the job; raises InvalidRequest."""
    if not parts:
        return
    if len(parts) > MAX_PARTS:
        raise InvalidRequest("parts", len(parts), f"give at most {MAX_PARTS} parts")
    if len({part.name for part in parts}) < len(parts):
        raise InvalidRequest("parts", [part.name for part in parts], "give each part a name of its own")
    for field, value, high in _part_numbers(parts):
        if not 1 <= value <= high:
            raise InvalidRequest(field, value, f"give a whole number from 1 to {high}")
    _check_levels(parts)
    total = sum(part.nodes for part in parts)
    if nodes != total:
        raise InvalidRequest("nodes", nodes, f"give the nodes of all parts together ({total})")


def _check_levels(parts: tuple[JobPart, ...]) -> None:
    for place, part in enumerate(parts):
        if part.mode is not LevelMode.ANY and not part.level:
            raise InvalidRequest(f"parts[{place}].level", part.level, f"name the level that is {part.mode}")


def _part_numbers(parts: tuple[JobPart, ...]) -> Iterator[tuple[str, int, int]]:
    for place, part in enumerate(parts):
        for field in ("nodes", "slice_size", "max_slice"):
            value = getattr(part, field)
            if value is not None:
                yield f"parts[{place}].{field}", value, MAX_NODES


def load_constraints(plain: dict[str, Any]) -> dict[str, Any]:
    """The fields of a dumped request that are values of this module, built anew."""
    return {
        "mode": LevelMode(plain["mode"]),
        "layers": tuple(Layer(**layer) for layer in plain["layers"]),
        "parts": tuple(JobPart(**{**part, "mode": LevelMode(part["mode"])}) for part in plain["parts"]),
        "plan": ParallelPlan(**plain["plan"]) if plain["plan"] else None,
        "after": tuple(plain["after"]),
    }

"""The levels that requests name, resolved against a topology.

A level whose groups are the domains themselves counts as the domain: where each rack is one domain, "rack" and "domain" mean the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from clusters.domain.constraints import Layer, LevelMode
from clusters.domain.errors import InvalidRequest
from clusters.domain.topology import Topology

DOMAIN = "domain"
NODE = "node"


def placing_level(topology: Topology, field: str, level: str, mode: LevelMode, nodes: int) -> tuple[str, LevelMode]:
    """The level that choices go by, and how; ("", any) where every choice does as well. Raises InvalidRequest for one that is not there."""
    if level:
        level = resolve(topology, field, level)
    if mode is LevelMode.ANY or nodes <= 1:
        return "", LevelMode.ANY
    if level not in topology.group_of:
        if level == NODE and mode is LevelMode.REQUIRED:
            raise InvalidRequest(field, level, f"{nodes} nodes do not lie in one; give one of {_told(topology)}")
        return (DOMAIN if level == NODE else level), mode
    return level, mode


def whole_domains(topology: Topology, field: str, level: str) -> None:
    """Raises InvalidRequest for a level inside the domain, where only levels that hold whole domains will do."""
    if level and level not in topology.group_of:
        raise InvalidRequest(field, level, f"a {level} is a part of a domain here; give one of {_told(topology)}")


def layer_levels(topology: Topology, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers with their levels resolved; raises InvalidRequest where they are not there, hold no domains, or do not nest as listed."""
    resolved = tuple(_resolved(topology, layers))
    order = [topology.levels.index(layer.level) for layer in layers]
    for place, (outer, inner) in enumerate(pairwise(order), 1):
        if inner < outer:
            raise InvalidRequest(f"layers[{place}].level", layers[place].level, f"list the outermost first: {', '.join(topology.levels)}")
    return resolved


def _resolved(topology: Topology, layers: tuple[Layer, ...]) -> Iterator[Layer]:
    for place, layer in enumerate(layers):
        field = f"layers[{place}].level"
        level = resolve(topology, field, layer.level)
        if level not in topology.group_of:
            raise InvalidRequest(field, level, f"slices lie inside domains already; give one of {_told(topology)}")
        yield Layer(level=level, size=layer.size)


def resolve(topology: Topology, field: str, level: str) -> str:
    """The level by the name that placement knows it by; raises InvalidRequest for one that the cluster does not have."""
    if level not in topology.levels:
        raise InvalidRequest(field, level, f"give one of the levels of this cluster: {', '.join(topology.levels)}")
    return equivalent(topology, level)


def equivalent(topology: Topology, level: str) -> str:
    """The domain for a level whose groups are the domains."""
    groups = topology.group_of.get(level)
    return DOMAIN if groups and groups[-1] + 1 == len(groups) else level


def _told(topology: Topology) -> str:
    return ", ".join(level for level in topology.levels if level in topology.group_of)

"""The two partitions of the nodes: condition and use. At every position of the log each sums to all nodes.

Both lists are in order of precedence: a node has the first condition, and the first use, that holds for it.
"""

from __future__ import annotations

from enum import StrEnum


class Condition(StrEnum):
    """What state the hardware is in."""

    ABSENT = "absent"
    UNKNOWN = "unknown"
    FAILED = "failed"
    IN_REPAIR = "in_repair"
    QUARANTINED = "quarantined"
    DRAINING = "draining"
    SUSPECT = "suspect"
    DEGRADED = "degraded"
    HEALTHY = "healthy"


class Use(StrEnum):
    """What a node does, or what it is kept for."""

    EXTERNAL = "external"
    STOPPING = "stopping"
    ALLOCATED = "allocated"
    LENT = "lent"
    SHARED = "shared"
    RESERVED = "reserved"
    OUT = "out"  # free, but not placeable
    SPARE = "spare"
    STRANDED = "stranded"
    IDLE = "idle"


CONDITIONS: tuple[Condition, ...] = tuple(Condition)
USES: tuple[Use, ...] = tuple(Use)
CONDITION_CODE: dict[Condition, int] = {condition: code for code, condition in enumerate(CONDITIONS)}
USE_CODE: dict[Use, int] = {use: code for code, use in enumerate(USES)}

#: Conditions in which a node may take new work ("healthy free" everywhere means one of these).
PLACEABLE: frozenset[Condition] = frozenset({Condition.DEGRADED, Condition.HEALTHY})

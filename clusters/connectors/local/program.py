"""What runs on local nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Seconds that a check may take.
CHECK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What every job of the fleet runs on each of its nodes, and what finds out whether a repaired node works."""

    argv: tuple[str, ...]
    directory: Path  # of what its processes print
    env: Mapping[str, str] = field(default_factory=dict)  # beside what tells it which job and node it is
    blames_nodes: bool = False  # an end with an error is the node's fault: launchers end so when what they watch over is killed
    check: tuple[str, ...] = ()  # passes by ending with code 0; without one, a node passes whose process answers
    check_seconds: float = CHECK_SECONDS  # after which a check has failed

"""Decisions: what a command led to, and the record that lets it be made again.

`decide(state, command, now)` is pure. A refusal is a value with a code and counted reasons, never an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusters.domain.commands import Command
from clusters.domain.events import Payload
from clusters.domain.ids import Instant

if TYPE_CHECKING:
    from clusters.domain.state import ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a command cannot be done now."""

    code: str  # "capacity-blocked", "topology-blocked", "policy", "health", "held", "recovery_budget", "state", "unknown", "infeasible"
    message: str = ""  # one sentence for people
    counts: dict[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Events that a command leads to; `more` tells the caller to send the command again: there is work left."""

    events: tuple[Payload, ...]
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """What a decision used, shared by its events; enough to make it again."""

    command: Command
    at_seq: int  # the decision read the state after this position
    now: Instant
    policy_version: int
    engine_version: int
    seed: int = 0
    solver: dict[str, float | str] | None = None
    more: bool = False


Decide = Callable[["ClusterState", "Command", Instant], "Decision | Refusal"]

#: Raised whenever the same state and command may decide otherwise than before.
ENGINE_VERSION = 3

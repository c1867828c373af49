"""A command on its way to be decided."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusters.domain.commands import Command
from clusters.domain.ids import Instant
from clusters.eventlog.correlation import correlation as current_correlation


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who sends which command. The same source and request_id sent again get the decision of the first time."""

    command: Command
    source: str
    request_id: str | None  # None: nobody will send it again; the position names it
    now: Instant | None = None  # cluster time of the decision; None: the cluster's clock says
    correlation: str = field(default_factory=current_correlation)  # what the work that asks belongs to
    causation: int | None = None

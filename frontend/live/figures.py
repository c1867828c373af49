"""What the hub of this process has done so far, for whoever watches it from outside. Written on the event loop only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Figures:
    """Since the process began."""

    sockets: int = 0  # open now
    opened: int = 0
    frames: int = 0  # sent
    resyncs: int = 0  # frames that told sockets to start anew, counted once each


figures = Figures()

"""Celery's in-memory broker, with a look at the stop flag every fifth of a second."""

from __future__ import annotations

from typing import Any

from kombu.transport.memory import Transport as MemoryTransport

#: The worker asks for 2 s at a time, twice at a stop: that alone would use up the time a stop may take.
LONGEST_WAIT = 0.2


class Transport(MemoryTransport):
    """Waits for messages in short stretches."""

    # Two base classes, two signatures in the stubs; the code has this one.
    def drain_events(self, connection: Any, timeout: float | None = None) -> None:  # type: ignore[override]
        super().drain_events(connection, LONGEST_WAIT if timeout is None else min(timeout, LONGEST_WAIT))

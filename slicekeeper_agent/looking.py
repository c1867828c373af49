"""What the agent sees: signals of the kernel log, and the changes of what lasts.

A report of the GPUs says the same thing every time; only what is different from the report before is sent, and what is wrong once in a
while again, so that a server that has forgotten knows it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from clusters.domain.ids import SECOND, Instant
from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import kernel
from clusters.signals.model import Parsed, Signal

logger = logging.getLogger("slicekeeper_agent")

#: What is wrong is said again after this time (seconds).
SAY_AGAIN_SECONDS = 900.0

IMEX = "imex"
READY = "READY"
HEARTBEAT = "heartbeat"

_SAID = ("code", "kind", "scope", "action")  # what makes a state another one; its text may count


class Looking:
    """The eyes of one node."""

    def __init__(self, node: str, *, product: str = "", boot: str = "", booted_at: Instant | None = None) -> None:
        self._node = node
        self._product = product
        self._boot = boot
        self._booted_at = booted_at
        self._standing: dict[tuple[str, str], tuple[object, ...]] = {}  # (check, component) -> what was last said of it
        self._last_said: float | None = None

    def kernel(self, lines: Sequence[str]) -> Iterator[Signal]:
        """Signals of new lines."""
        parsed = kernel.parse(lines, self._node, product=self._product, boot=self._boot, booted_at=self._booted_at)
        _tell(parsed)
        yield from parsed.signals

    def report(self, parsed: Parsed, product: str, at: float) -> Iterator[Signal]:
        """What has changed since the last report of the GPUs."""
        self._product = self._product or product
        _tell(parsed)
        yield from self._changed(parsed.signals, at)

    def imex(self, text: str) -> Iterator[Signal]:
        """Whether IMEX is ready."""
        ready = text.strip().upper() == READY
        kind = SignalKind.RECOVERED if ready else SignalKind.SOFT
        told = "" if ready else f"IMEX is not ready: {text.strip() or 'it does not answer'}"
        signal = Signal(node=self._node, code=IMEX, kind=kind, scope=SignalScope.SHARED, check=IMEX, text=told, lasting=True)
        yield from self._new((signal,))

    def failed(self, command: str, why: str) -> Iterator[Signal]:
        """A command that should say how the node is has failed: a doubt until it works again."""
        yield from self._new((self._command(command, SignalKind.SOFT, f"{command} failed: {why}"),))

    def worked(self, command: str) -> Iterator[Signal]:
        """It works."""
        yield from self._new((self._command(command, SignalKind.RECOVERED, ""),))

    def heartbeat(self, every_s: float) -> Signal:
        """A sign of life, and when the next will come."""
        return Signal(node=self._node, code=HEARTBEAT, kind=SignalKind.INFO, check=HEARTBEAT, text=f"{every_s:g}")

    def _command(self, command: str, kind: SignalKind, text: str) -> Signal:
        return Signal(node=self._node, code="agent:command", kind=kind, check="command", component=command, text=text, lasting=True)

    def _changed(self, signals: Sequence[Signal], at: float) -> Iterator[Signal]:
        if self._last_said is None or at - self._last_said >= SAY_AGAIN_SECONDS:
            self._last_said = at
            self._standing = {what: said for what, said in self._standing.items() if SignalKind.RECOVERED in said}
        yield from self._new(signals)

    def _new(self, signals: Sequence[Signal]) -> Iterator[Signal]:
        for signal in signals:
            said = tuple(getattr(signal, field) for field in _SAID)
            if not signal.lasting:  # it has happened once more
                yield signal
            elif self._standing.get((signal.check, signal.component)) != said:
                self._standing[signal.check, signal.component] = said
                yield signal


def wire(signal: Signal, now: str) -> dict[str, Any]:
    """The signal as the API takes it, without what is as it is by default. One that has no time of its own happened now."""
    told = asdict(signal)
    del told["seq"]
    told["occurred_at"] = now if signal.occurred_at is None else text_of(signal.occurred_at)
    return {field: value for field, value in told.items() if value not in ("", (), False, None)}


def text_of(instant: Instant) -> str:
    """An instant as RFC 3339 writes it, in UTC."""
    whole, micros = divmod(instant, SECOND)
    return f"{datetime.fromtimestamp(whole, tz=UTC):%Y-%m-%dT%H:%M:%S}.{micros:06d}Z"


def _tell(parsed: Parsed) -> None:
    for problem in parsed.problems:
        logger.warning("%s: %s", problem.position or "input", problem.message)

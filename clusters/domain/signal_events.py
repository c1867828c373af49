"""Events of signals: what sources report of nodes. What follows from them is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clusters.domain.signals import SignalKind, SignalScope


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalReceived:
    """A source said something of a node's health that it had not said before."""

    VERSION: ClassVar[int] = 1
    node: str
    code: str  # what happened: "xid:79", "dcgm:nvlink-crc", "kubernetes:Ready"
    kind: SignalKind
    scope: SignalScope
    check: str  # what was looked at; a recovery takes back what the source said of the same check
    component: str = ""  # the GPU, link or switch; "" for the node as a whole
    text: str = ""
    action: str = ""  # what the vendor says is to be done
    lasting: bool = False  # holds until the source takes it back
    evidence: tuple[str, ...] = ()  # as the source told it

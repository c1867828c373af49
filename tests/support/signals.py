"""Signals as sources send them, in a word."""

from __future__ import annotations

from dataclasses import replace

from clusters.domain.signal_events import SignalReceived
from clusters.domain.signals import SignalKind, SignalScope


def off_bus(node: str, component: str = "gpu 1") -> SignalReceived:
    """Fatal for the node itself."""
    return SignalReceived(
        node=node,
        code="xid:79",
        kind=SignalKind.FATAL,
        scope=SignalScope.NODE,
        check="xid",
        component=component,
        text="GPU fell off the bus",
    )


def nvlink(node: str, check: str = "xid") -> SignalReceived:
    """Fatal, and others of the domain may say the same in a moment."""
    return SignalReceived(node=node, code="xid:149", kind=SignalKind.FATAL, scope=SignalScope.SHARED, check=check, text="NVLink fault")


def soft(node: str, number: int = 0) -> SignalReceived:
    """No proof by itself; another component each time, so that it is news."""
    return SignalReceived(node=node, code="ecc", kind=SignalKind.SOFT, scope=SignalScope.NODE, check="ecc", component=f"gpu {number}")


def lasting(node: str, kind: SignalKind = SignalKind.SOFT) -> SignalReceived:
    """Holds until it is taken back."""
    return SignalReceived(node=node, code=f"check:{kind}", kind=kind, scope=SignalScope.NODE, check=kind, lasting=True)


def unreachable(node: str) -> SignalReceived:
    """The source cannot reach the node."""
    return lasting(node, SignalKind.UNREACHABLE)


def well(of: SignalReceived) -> SignalReceived:
    """The source takes back what it said."""
    return replace(of, code="", kind=SignalKind.RECOVERED, text="", component="")

"""Decoding Xids 144 to 150: `149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 ...)`.

The first number names the unit and, for link events, the reason; the second is the error status. Both drivers' layouts are tried. What the
table does not hold is as bad as the line itself says: fatal, or a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from clusters.domain.signals import SignalKind, SignalScope

_LINE = re.compile(r"\b([A-Z][A-Z0-9_/]{2,40})\s+(Fatal|Nonfatal)\b(?:[^(]{0,60}\((0x[0-9a-fA-F]{1,8})(?:\s+(0x[0-9a-fA-F]{1,8}))?)?")
_CODE_BITS, _CODE_BITS_R575 = 10, 7
_REASON_AT, _REASON_BITS = 20, 6

_IGNORE, _RESET = "IGNORE", "RESET_GPU"
#: Nothing is to be done for the line itself; an Xid 154 beside it speaks for itself.
_HARMLESS = (_IGNORE, "XID_154_EVAL")


class Decoded(NamedTuple):
    """What a line comes to."""

    unit: str
    kind: SignalKind
    scope: SignalScope
    action: str
    look_into: str


def decoded(xid: int, message: str, units: Iterable[Mapping[str, Any]]) -> Decoded | None:
    """The meaning of the line; None where it names no unit."""
    line = _LINE.search(message)
    if line is None:
        return None
    name, severity, info, status = line[1], line[2], int(line[3] or "0", 16), int(line[4] or "0", 16)
    row = _row(units, xid, name, info, status) if line[3] else None
    if row is None:
        kind = SignalKind.FATAL if severity == "Fatal" else SignalKind.SOFT
        return Decoded(name, kind, SignalScope.SHARED, "", "not in the decode table")
    _, action, look_into, grade, remote = row
    scope = SignalScope.NODE if remote == "none" else SignalScope.SHARED
    return Decoded(name, _kind(action, look_into, grade), scope, action, "" if look_into == _IGNORE else look_into)


def _kind(action: str, look_into: str, grade: str) -> SignalKind:
    if action == _RESET:
        return SignalKind.FATAL
    return SignalKind.INFO if action in _HARMLESS and look_into == _IGNORE and grade == "non-fatal" else SignalKind.SOFT


def _row(units: Iterable[Mapping[str, Any]], xid: int, name: str, info: int, status: int) -> Sequence[str] | None:
    """The row of the table, by unit and reason, or by unit and status."""
    for unit in units:
        if unit["xid"] != xid or not _names(unit["name"], name) or not _is_unit(unit, info):
            continue
        wanted = (info >> _REASON_AT) & _low(_REASON_BITS) if unit.get("by_reason") else status
        row = next((row for row in unit["on"] if row[0] == "" or int(row[0], 0) == wanted), None)
        return row or _worst([row for row in unit["on"] if not unit.get("by_reason") and int(row[0], 0) & wanted])
    return None


def _names(known: str, told: str) -> bool:
    """Whether the line's unit is this one: the table gives some units two names, and lines may give both."""
    return bool({*known.split("/")} & {*told.split("/")})


def _is_unit(unit: Mapping[str, Any], info: int) -> bool:
    return bool(info & _low(_CODE_BITS) == unit["code"] or info & _low(_CODE_BITS_R575) == unit["code_r575"])


def _worst(rows: Sequence[Sequence[str]]) -> Sequence[str] | None:
    """Of several bits of the status the one that asks for a reset, else the first."""
    return next((row for row in rows if row[1] == _RESET), rows[0] if rows else None)


def _low(bits: int) -> int:
    return (1 << bits) - 1

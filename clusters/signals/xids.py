"""The catalogue: what Xids, SXids and DCGM's errors say of a node. The data is in `catalogue/`, with its sources.

What the catalogue does not know is a soft signal and says so: a new driver must neither fail a fleet nor go unnoticed.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.nvlink5 import decoded

#: Architectures by what is in a product's name ("80GB" is no GB200). GB200 and GB300 are one, B200 and B300 on HGX another.
_ARCHITECTURES = (
    (re.compile(r"\bGB\d{3}\b"), "gb200"),
    (re.compile(r"\bB[123]00\b"), "b100"),
    (re.compile(r"\b(GH200|H100|H200|H800|H20)\b"), "h100"),
    (re.compile(r"\b(A100|A800)\b"), "a100"),
)

_RECOVERY = re.compile(r"changed from [^,]{0,60}? to (?:0x)?([0-9a-fA-F]{1,4})\b")
_RECOVERY_ACTION = 154
_NVLINK5 = range(144, 151)
_FABRIC_WORDS = ("NVLINK", "NVSWITCH", "FABRIC", "IMEX", "SXID", "P2P")
_FATAL_ACTIONS = frozenset(("COMPONENT_RESET", "RESTART_VM", "RESTART_BM"))


#: Said of signals whose code nobody knows and whose source does not say how bad they are.
UNKNOWN_CODE = "unknown code, taken as soft"


class Meaning(NamedTuple):
    """What a code says."""

    kind: SignalKind
    scope: SignalScope
    name: str
    action: str = ""
    known: bool = True  # False: the kind is a guess

    def worded(self, said: str) -> str:
        """The source's own words, or the code's name; that the kind is a guess comes before them."""
        if self.known:
            return said or self.name
        return f"{UNKNOWN_CODE}: {said}" if said else UNKNOWN_CODE


def is_guess(kind: SignalKind, text: str) -> bool:
    """Whether a signal of this kind and text was taken for a doubt because nobody knows its code."""
    return kind is SignalKind.SOFT and text.startswith(UNKNOWN_CODE)


@cache
def catalogue(name: str) -> dict[str, Any]:
    """One table of the catalogue."""
    return tomllib.loads(files("clusters.signals").joinpath("catalogue", f"{name}.toml").read_text(encoding="utf-8"))


def architecture_of(product: str) -> str:
    """The architecture that a product's name tells, or ""."""
    upper = product.upper()
    return next((found for word, found in _ARCHITECTURES if word.search(upper)), "")


def xid_meaning(code: int, message: str = "", product: str = "") -> Meaning:
    """What an Xid says, with the kernel's message where there is one; the architecture counts where the product tells it."""
    tables = catalogue("xid")
    known = tables["xid"].get(str(code))
    if known is None:
        lack = "is not in use" if code in tables["unused"] else "is unknown"
        return Meaning(SignalKind.SOFT, SignalScope.NODE, f"Xid {code} {lack}", known=False)
    architecture = architecture_of(product)
    scope = SignalScope.SHARED if known.get("shared") else SignalScope.NODE
    if architecture and architecture not in known.get("on", (architecture,)):
        return Meaning(SignalKind.SOFT, scope, f"{known['name']} (not in use on {architecture})", known.get("action", ""))
    if code == _RECOVERY_ACTION:
        return _recovery(message, known["name"])
    if code in _NVLINK5 and (found := decoded(code, message, catalogue("nvlink5")["unit"])) is not None:
        name = f"{known['name']}: {found.unit}" + (f", {found.look_into}" if found.look_into else "")
        return Meaning(found.kind, found.scope, name, found.action)
    return Meaning(SignalKind(known["kind"]), scope, known["name"], known.get("action", ""))


def sxid_meaning(code: int, message: str = "") -> Meaning:
    """What an error of an NVSwitch says; a switch is shared by whatever hangs on it."""
    tables, key = catalogue("sxid"), str(code)
    said_fatal = re.match(r"\s*fatal\b", message, re.IGNORECASE) is not None
    grade = next((grade for grade in ("always", "maybe", "never") if key in tables[grade]), "")
    name = tables[grade][key] if grade else f"SXid {code} is unknown"
    unsaid = SignalKind.INFO if grade == "never" else SignalKind.SOFT
    kind = SignalKind.FATAL if grade == "always" or said_fatal else unsaid
    return Meaning(kind, SignalScope.SHARED, name, known=bool(grade) or said_fatal)


def dcgm_meaning(error: str) -> Meaning:
    """What an error code of DCGM's health checks says."""
    action = next((action for action, errors in catalogue("dcgm").items() if error in errors), "")
    scope = SignalScope.SHARED if any(word in error for word in _FABRIC_WORDS) else SignalScope.NODE
    if action in _FATAL_ACTIONS:
        return Meaning(SignalKind.FATAL, scope, error, action)
    return Meaning(SignalKind.SOFT, scope, error if action else f"{error} is unknown", action, known=bool(action))


def _recovery(message: str, name: str) -> Meaning:
    """Xid 154 carries the action itself; without one it is a doubt."""
    told = _RECOVERY.search(message)
    action = catalogue("xid")["recovery"].get(str(int(told[1], 16))) if told else None
    if action is None:
        return Meaning(SignalKind.SOFT, SignalScope.NODE, f"{name}: to what, is not told", "")
    return Meaning(SignalKind(action["kind"]), SignalScope.NODE, f"{name}: {action['name']}", action.get("action", ""))

"""Events of NVLink switch trays and their chips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTrayFailed:
    """A switch tray, or one of its chips, carries nothing any more."""

    VERSION: ClassVar[int] = 1
    rack: str
    tray: int  # from 1, as drawn
    chip: int | None = None  # from 1; None: all of the tray
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTrayRepaired:
    """A switch tray, or one of its chips, works again."""

    VERSION: ClassVar[int] = 1
    rack: str
    tray: int
    chip: int | None = None
    reason: str = ""

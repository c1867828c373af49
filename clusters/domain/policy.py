"""The policy of a cluster: one versioned, validated value, changed only by PolicyActivated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from clusters.domain.errors import InvalidRequest


class SparesScope(StrEnum):
    """Which domains owe spares."""

    WITH_JOBS = "with_jobs"  # those in which a multi-node job runs
    ALL = "all"


class DefragMode(StrEnum):
    """What the defragmenter may do by itself."""

    OFF = "off"
    SUGGEST = "suggest"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that decisions read. Each default is the one of a new cluster."""

    slice_size: int | None = None  # nodes a slice may have at most; None = auto, see slices.auto_slice
    target_spares: int = 2  # nodes a domain should keep free and healthy; orders choices
    min_spares: int = 0  # nodes below which a placement is refused
    spares_scope: SparesScope = SparesScope.WITH_JOBS
    lending: bool = False  # may restartable work below a slice run on owed spares
    defrag_mode: DefragMode = DefragMode.SUGGEST
    interactive_preemptible: bool = False

    def __post_init__(self) -> None:
        """Refuse values out of range; raises InvalidRequest."""
        if self.slice_size is not None and not 1 <= self.slice_size <= MAX_SLICE:
            raise InvalidRequest("slice_size", self.slice_size, f"give a whole number from 1 to {MAX_SLICE}, or null for auto")
        if not 0 <= self.target_spares <= MAX_SLICE:
            raise InvalidRequest("target_spares", self.target_spares, f"give a whole number from 0 to {MAX_SLICE}")
        if not 0 <= self.min_spares <= self.target_spares:
            raise InvalidRequest("min_spares", self.min_spares, f"give a whole number from 0 to target_spares ({self.target_spares})")


#: NVLink domains of 576 GPUs are announced; a wider bound costs nothing.
MAX_SLICE = 1024

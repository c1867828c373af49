"""The policy of a cluster: one versioned, validated value, changed only by PolicyActivated.

Each setting is described once, in `settings`, and each with rows in `teams.TABLES`. Its default is the one of the field of `Policy`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from clusters.domain.errors import InvalidRequest
from clusters.domain.setting import DAY_S, DEFAULTS, Backfill, DefragMode, Preemption, QueueOrder, Setting, SparesScope, Value
from clusters.domain.settings import SETTINGS
from clusters.domain.teams import DEFAULT_CLASSES, TABLES, Exempt, PriorityClass, Quota, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The settings that decisions read. Each default is the one of a new cluster."""

    slice_size: int | None = None  # None = auto, see slices.auto_slice
    target_spares: int = 2
    min_spares: int = 0
    spares_scope: SparesScope = SparesScope.WITH_JOBS
    lending: bool = False
    queue_order: QueueOrder = QueueOrder.AGE
    classes: tuple[PriorityClass, ...] = DEFAULT_CLASSES
    quotas: tuple[Quota, ...] = ()
    backfill: Backfill = Backfill.EASY
    reservation_depth: int = 4
    default_run_s: int = DAY_S
    refusal_settle_s: int = 60
    fair_share_half_life_h: int = 0
    preemption: Preemption = Preemption.OFF
    interactive_preemptible: bool = False
    offender_failures: int = 2
    incident_memory_s: int = 3_600
    unreachable_limit_s: int = 300
    soft_signals: int = 3
    soft_window_s: int = 600
    recovery_quiet_s: int = 300
    flap_verdicts: int = 3
    flap_window_h: int = 24
    breaker_percent: int = 10
    incident_window_ms: int = 1_000
    incident_nodes: int = 2
    incident_rack_nodes: int = 3
    check_repaired: bool = True
    recoveries_per_hour: int = 12  # 0 = no limit
    defrag_mode: DefragMode = DefragMode.SUGGEST
    defrag_wait_s: int = 60
    defrag_moves: int = 8
    defrag_cooldown_s: int = 3_600
    defrag_may_wait: bool = False
    defrag_use_spares: bool = False
    defrag_grace_s: int = 60
    defrag_claim_s: int = 1_800
    defrag_jobs_per_hour: int = 12
    defrag_team_per_hour: int = 6
    defrag_seconds: int = 4
    exempt: tuple[Exempt, ...] = ()

    def __post_init__(self) -> None:
        """Refuse values out of range; raises InvalidRequest."""
        for setting in SETTINGS:
            value = getattr(self, setting.name)
            if not setting.holds(value):
                raise InvalidRequest(setting.name, value, setting.expected)
        for table in TABLES:
            table.check(getattr(self, table.name))
        if self.min_spares > self.target_spares:
            raise InvalidRequest("min_spares", self.min_spares, f"give a whole number from 0 to target_spares ({self.target_spares})")


DEFAULTS.update(asdict(Policy()))


def load_policy(plain: dict[str, Any]) -> Policy:
    """The policy whose `asdict` this is."""
    enums = {setting.name: setting.choices(plain[setting.name]) for setting in SETTINGS if setting.choices is not None}
    return Policy(**{**plain, **enums, **{table.name: table.load(plain[table.name]) for table in TABLES}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One setting that differs between two policies."""

    setting: Setting | Table
    old: Value  # of a table: its rows in words
    new: Value


def difference(old: Policy, new: Policy) -> tuple[Change, ...]:
    """What differs, in the order of SETTINGS, then of TABLES."""
    values = [(setting, getattr(old, setting.name), getattr(new, setting.name)) for setting in SETTINGS]
    changes = [Change(setting=setting, old=before, new=after) for setting, before, after in values if before != after]
    for table in TABLES:
        before, after = getattr(old, table.name), getattr(new, table.name)
        if before != after:
            changes.append(Change(setting=table, old=table.words(before), new=table.words(after)))
    return tuple(changes)

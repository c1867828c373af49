"""The policy of a cluster: one versioned, validated value, changed only by PolicyActivated.

Each setting is described once, in `SETTINGS`, and each with rows in `teams.TABLES`; page, API, guide and validation read it there. Its
default is the one of the field of `Policy`. A setting that nothing reads yet says so, rather than pretend.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from clusters.domain.errors import InvalidRequest
from clusters.domain.teams import DEFAULT_CLASSES, TABLES, Exempt, PriorityClass, Quota, Table

#: NVLink domains of 576 GPUs are announced; a wider bound costs nothing.
MAX_SLICE = 1024

DAY_S = 86_400


class SparesScope(StrEnum):
    """Which domains owe spares."""

    WITH_JOBS = "with_jobs"  # those in which a multi-node job runs
    ALL = "all"


class QueueOrder(StrEnum):
    """In which order jobs of one priority are tried."""

    AGE = "age"  # the oldest first
    SIZE = "size"  # the smallest first, then the oldest


class Backfill(StrEnum):
    """What may run ahead of a job that has no room yet."""

    OFF = "off"  # whatever fits: nothing is kept for large jobs
    EASY = "easy"  # what does not delay the first jobs that wait, see `reservation_depth`
    CONSERVATIVE = "conservative"  # what delays none of the jobs ahead of it


class Preemption(StrEnum):
    """Whose work may be stopped for a job of higher priority that waits."""

    OFF = "off"
    LOWER = "lower"
    EQUAL = "equal"  # of the same priority, too, once it has run for the cool-down


class DefragMode(StrEnum):
    """What the defragmenter may do by itself."""

    OFF = "off"
    SUGGEST = "suggest"
    AUTO = "auto"


#: What a setting may hold; None = left to the program, where the setting allows it.
Value = int | bool | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What there is to know of one setting: a number with its range, a word of a few, or a switch."""

    name: str  # the field of Policy
    label: str
    group: str
    meaning: str
    unit: str = ""
    low: int = 0
    high: int = 0
    choices: type[StrEnum] | None = None
    switch: bool = False
    auto: str = ""  # what None means, for a number that may be left to the program
    used: bool = True  # whether this version reads it

    @property
    def number(self) -> bool:
        """Whether it is a whole number."""
        return not self.switch and self.choices is None

    @property
    def default(self) -> Value:
        """The value of a new cluster."""
        return _DEFAULTS[self.name]

    @property
    def expected(self) -> str:
        """What would be right."""
        if self.choices is not None:
            return f"give one of: {', '.join(self.choices)}"
        if self.switch:
            return "give true or false"
        return f"give a whole number from {self.low} to {self.high}{', or null for auto' if self.auto else ''}"

    @property
    def told(self) -> str:
        """The meaning, and whether it has an effect now."""
        return self.meaning if self.used else f"{self.meaning} {NOT_USED}"

    def holds(self, value: object) -> bool:
        """Whether the value is one that the setting may have."""
        if self.choices is not None:
            return isinstance(value, self.choices)
        if self.switch:
            return isinstance(value, bool)
        if value is None:
            return bool(self.auto)
        return type(value) is int and self.low <= value <= self.high


NOT_USED = "Not used yet by this version: it is kept, and changes nothing."

_SLICES, _SPARES, _QUEUE, _FAILURES, _DEFRAG = "Slices", "Spares", "Queue", "Failures", "Defragmentation"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="slice_size",
        label="Slice size",
        group=_SLICES,
        unit="nodes",
        low=1,
        high=MAX_SLICE,
        auto="one in nine of a domain stays as a spare: 16 of 18",
        meaning="The most nodes that a slice may have. New placements are cut by it; running jobs keep their slices.",
    ),
    Setting(
        name="target_spares",
        label="Target spares",
        group=_SPARES,
        unit="nodes",
        high=MAX_SLICE,
        meaning="Healthy free nodes that a domain should keep. It orders choices: a job starts without its spares rather than wait.",
    ),
    Setting(
        name="min_spares",
        label="Minimum spares",
        group=_SPARES,
        unit="nodes",
        high=MAX_SLICE,
        meaning="Healthy free nodes that each domain of a job on several nodes must keep: below that it waits. At most the target.",
    ),
    Setting(
        name="spares_scope",
        label="Domains that owe spares",
        group=_SPARES,
        choices=SparesScope,
        meaning="Those in which a job on several nodes runs (with_jobs), or all.",
    ),
    Setting(
        name="lending",
        label="Lend spares",
        group=_SPARES,
        switch=True,
        meaning="Whether restartable work below a slice may run on owed spares until a swap needs them.",
    ),
    Setting(
        name="queue_order",
        label="Queue order",
        group=_QUEUE,
        choices=QueueOrder,
        meaning="The most points go first, always (see the priority classes). Of equal points: who has waited longest (age), or, with "
        "fractions of points left aside, the smallest and then who has waited longest (size).",
    ),
    Setting(
        name="backfill",
        label="Backfill",
        group=_QUEUE,
        choices=Backfill,
        meaning="What may start ahead of a job that has no room yet: whatever fits (off), what does not delay the first jobs that wait "
        "(easy), or what delays no job ahead of it (conservative).",
    ),
    Setting(
        name="reservation_depth",
        label="Reservations at once",
        group=_QUEUE,
        unit="jobs",
        low=1,
        high=64,
        meaning="So many jobs at the head of the queue have nodes kept for them under easy backfill.",
    ),
    Setting(
        name="default_run_s",
        label="Run time taken",
        group=_QUEUE,
        unit="seconds",
        low=60,
        high=30 * DAY_S,
        meaning="How long a job is taken to run that states neither a time limit nor an expected run time.",
    ),
    Setting(
        name="refusal_settle_s",
        label="Reasons settle for",
        group=_QUEUE,
        unit="seconds",
        high=DAY_S,
        meaning="A waiting job's reason is told anew at most so often while it changes back and forth.",
    ),
    Setting(
        name="fair_share_half_life_h",
        label="Fair share half-life",
        group=_QUEUE,
        unit="hours",
        high=24 * 365,
        meaning="After so long past use counts half. A team that has used all that was used lately loses 40 points, one that has used half "
        "of it 20, and so on; 0: past use does not count.",
    ),
    Setting(
        name="preemption",
        label="Preemption",
        group=_QUEUE,
        choices=Preemption,
        meaning="Which restartable work may be stopped so that a waiting job of higher priority starts: none (off), what has fewer points, "
        "ageing aside (lower), or also what has the same and has run for the cool-down of a workload (equal). Nothing is stopped in vain.",
    ),
    Setting(
        name="interactive_preemptible",
        label="Interactive work may be preempted",
        group=_QUEUE,
        switch=True,
        meaning="Whether interactive jobs may be stopped to make room for others.",
    ),
    Setting(
        name="offender_failures",
        label="Repeat offender from",
        group=_FAILURES,
        unit="failures",
        low=1,
        high=1000,
        meaning="A node that failed so often is chosen last among equal ones.",
    ),
    Setting(
        name="incident_memory_s",
        label="Incidents remembered",
        group=_FAILURES,
        unit="seconds",
        high=30 * DAY_S,
        meaning="A domain in which a node failed less than this ago is chosen after others that serve as well.",
    ),
    Setting(
        name="unreachable_limit_s",
        label="Unreachable limit",
        group=_FAILURES,
        unit="seconds",
        high=DAY_S,
        meaning="A node that has work and that nobody can reach for so long is taken for dead, and its work is moved.",
    ),
    Setting(
        name="soft_signals",
        label="Soft signals to a verdict",
        group=_FAILURES,
        unit="signals",
        low=1,
        high=100,
        meaning="So many signals that are no proof by themselves, within the time below, make a node suspect.",
    ),
    Setting(
        name="soft_window_s",
        label="Soft signals count for",
        group=_FAILURES,
        unit="seconds",
        low=1,
        high=DAY_S,
        meaning="The time within which soft signals are counted together.",
    ),
    Setting(
        name="recovery_quiet_s",
        label="Quiet before recovery",
        group=_FAILURES,
        unit="seconds",
        high=DAY_S,
        meaning="A node that a verdict took out is back once nothing has spoken against it for so long since the last bad signal.",
    ),
    Setting(
        name="flap_verdicts",
        label="Flapping from",
        group=_FAILURES,
        unit="verdicts",
        low=2,
        high=16,
        meaning="A node that verdicts took out so often, within the time below, is quarantined until a person releases it.",
    ),
    Setting(
        name="flap_window_h",
        label="Flapping counts for",
        group=_FAILURES,
        unit="hours",
        low=1,
        high=24 * 365,
        meaning="The time within which verdicts are counted together as flapping.",
    ),
    Setting(
        name="breaker_percent",
        label="Breaker",
        group=_FAILURES,
        unit="% of nodes",
        low=1,
        high=100,
        meaning="Where verdicts would take out more than this share of the nodes together, nothing more is taken out without a person.",
    ),
    Setting(
        name="incident_window_ms",
        label="Incident window",
        group=_FAILURES,
        unit="milliseconds",
        high=60_000,
        meaning="Fatal signals that can share a cause are collected for so long, from the first, and then judged together.",
    ),
    Setting(
        name="incident_nodes",
        label="Incident from",
        group=_FAILURES,
        unit="nodes",
        low=2,
        high=MAX_SLICE,
        meaning="So many nodes of one domain that fail together, of what can be one cause, are one incident.",
    ),
    Setting(
        name="incident_rack_nodes",
        label="Rack out from",
        group=_FAILURES,
        unit="nodes",
        low=2,
        high=MAX_SLICE,
        meaning="An incident of so many nodes takes the racks of its domain out of service: nothing new is placed there.",
    ),
    Setting(
        name="defrag_mode",
        label="Mode",
        group=_DEFRAG,
        choices=DefragMode,
        meaning="Whether moves that would free whole domains are made (auto), proposed (suggest), or not looked for (off).",
    ),
    Setting(
        name="defrag_wait_s",
        label="Wait before a plan",
        group=_DEFRAG,
        unit="seconds",
        high=7 * DAY_S,
        meaning="A job must have been topology-blocked for so long before moves are planned for it.",
    ),
    Setting(
        name="defrag_moves",
        label="Moves of a plan",
        group=_DEFRAG,
        unit="workloads",
        low=1,
        high=1000,
        meaning="The most workloads that one plan may move.",
    ),
    Setting(
        name="defrag_cooldown_s",
        label="Cool-down of a workload",
        group=_DEFRAG,
        unit="seconds",
        high=7 * DAY_S,
        meaning="A workload that was moved or preempted is left alone for so long.",
    ),
    Setting(
        name="defrag_may_wait",
        label="Work may wait",
        group=_DEFRAG,
        switch=True,
        meaning="Whether a plan may have work stop and wait where nothing else helps. Otherwise all that leaves has a place to go to.",
    ),
    Setting(
        name="defrag_use_spares",
        label="Moves use spares",
        group=_DEFRAG,
        switch=True,
        meaning="Whether work that moves may take spares that its new domain owes.",
    ),
    Setting(
        name="defrag_grace_s",
        label="Grace for checkpoints",
        group=_DEFRAG,
        unit="seconds",
        high=3_600,
        meaning="Work that is to move is asked to save its progress first, and has so long for it.",
    ),
    Setting(
        name="defrag_claim_s",
        label="Freed space is kept for",
        group=_DEFRAG,
        unit="seconds",
        low=60,
        high=DAY_S,
        meaning="What a plan frees is kept for its job for so long from the plan's approval.",
    ),
    Setting(
        name="defrag_jobs_per_hour",
        label="Jobs disturbed an hour",
        group=_DEFRAG,
        unit="jobs",
        high=10_000,
        meaning="Auto mode disturbs no more jobs in an hour. A person who approves a plan is not bound by it.",
    ),
    Setting(
        name="defrag_team_per_hour",
        label="Jobs of one team an hour",
        group=_DEFRAG,
        unit="jobs",
        high=10_000,
        meaning="Auto mode disturbs no more jobs of one team in an hour.",
    ),
    Setting(
        name="defrag_seconds",
        label="Time of a search",
        group=_DEFRAG,
        unit="seconds",
        low=1,
        high=60,
        meaning="So long the exact search for a plan may take; then the best plan found so far is taken, and says what is not known.",
    ),
)


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


_DEFAULTS: dict[str, Value] = asdict(Policy())


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

"""Settings of the policy about making room by moving other work."""

from __future__ import annotations

from clusters.domain.setting import DAY_S, DefragMode, Setting

DEFRAG = "Defragmentation"

DEFRAG_SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="defrag_mode",
        label="Mode",
        group=DEFRAG,
        choices=DefragMode,
        meaning="Whether moves that would free whole domains are made (auto), proposed (suggest), or not looked for (off).",
    ),
    Setting(
        name="defrag_wait_s",
        label="Wait before a plan",
        group=DEFRAG,
        unit="seconds",
        high=7 * DAY_S,
        meaning="A job must have been topology-blocked for so long before moves are planned for it.",
    ),
    Setting(
        name="defrag_moves",
        label="Moves of a plan",
        group=DEFRAG,
        unit="workloads",
        low=1,
        high=1000,
        meaning="The most workloads that one plan may move.",
    ),
    Setting(
        name="defrag_cooldown_s",
        label="Cool-down of a workload",
        group=DEFRAG,
        unit="seconds",
        high=7 * DAY_S,
        meaning="A workload that was moved or preempted is left alone for so long.",
    ),
    Setting(
        name="defrag_may_wait",
        label="Work may wait",
        group=DEFRAG,
        switch=True,
        meaning="Whether a plan may have work stop and wait where nothing else helps. Otherwise all that leaves has a place to go to.",
    ),
    Setting(
        name="defrag_use_spares",
        label="Moves use spares",
        group=DEFRAG,
        switch=True,
        meaning="Whether work that moves may take spares that its new domain owes.",
    ),
    Setting(
        name="defrag_grace_s",
        label="Grace for checkpoints",
        group=DEFRAG,
        unit="seconds",
        high=3_600,
        meaning="Work that is to move is asked to save its progress first, and has so long for it.",
    ),
    Setting(
        name="defrag_claim_s",
        label="Freed space is kept for",
        group=DEFRAG,
        unit="seconds",
        low=60,
        high=DAY_S,
        meaning="What a plan frees is kept for its job for so long from the plan's approval.",
    ),
    Setting(
        name="defrag_jobs_per_hour",
        label="Jobs disturbed an hour",
        group=DEFRAG,
        unit="jobs",
        high=10_000,
        meaning="Auto mode disturbs no more jobs in an hour. A person who approves a plan is not bound by it.",
    ),
    Setting(
        name="defrag_team_per_hour",
        label="Jobs of one team an hour",
        group=DEFRAG,
        unit="jobs",
        high=10_000,
        meaning="Auto mode disturbs no more jobs of one team in an hour.",
    ),
    Setting(
        name="defrag_seconds",
        label="Time of a search",
        group=DEFRAG,
        unit="seconds",
        low=1,
        high=60,
        meaning="So long the exact search for a plan may take; then the best plan found so far is taken, and says what is not known.",
    ),
)

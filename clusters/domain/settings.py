"""Every setting of the policy but its tables, described once: page, API, guide and validation read it here."""

from __future__ import annotations

from clusters.domain.setting import DAY_S, MAX_SLICE, Backfill, Preemption, QueueOrder, Setting, SparesScope
from clusters.domain.settings_defrag import DEFRAG_SETTINGS
from clusters.domain.settings_failures import FAILURE_SETTINGS

_SLICES, _SPARES, _QUEUE = "Slices", "Spares", "Queue"

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
        meaning="Healthy free nodes that a domain should keep. It orders choices: a job of a slice or more starts without them rather than "
        "wait; a smaller one may not use those that are owed.",
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
    *FAILURE_SETTINGS,
    *DEFRAG_SETTINGS,
)

"""Refusals that are not for want of room: the team's quota, other jobs, the time, too many recoveries.

quota   the team would have more than its quota, and may not borrow so much
held    the job waits for other jobs to finish, or is not to start yet

recovery_budget   lost nodes of the job were replaced as often in the last hour as the policy allows
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusters.domain.decision import Refusal
from clusters.domain.ids import DAY, HOUR, MINUTE, Instant
from scheduling.domain.wording import many

QUOTA = "quota"
HELD = "held"
RECOVERY_BUDGET = "recovery_budget"


def waits_for_jobs(jobs: Iterable[str]) -> Refusal:
    """These jobs must finish first."""
    names = sorted(jobs)
    return Refusal(code=HELD, counts={"after": len(names), "first": names[0]})


def waits_for_time(start: Instant) -> Refusal:
    """It is not to start before that instant."""
    return Refusal(code=HELD, counts={"not_before": start})


def quota_words(counts: Mapping[str, int | str]) -> list[str]:
    """E.g. "held by the quota of team vision: 64 of 72 GPUs in use, and it asks for 16; it could borrow 4"."""
    team = f"team {counts['team']}" if counts["team"] else "work of no team"
    words = [
        f"held by the quota of {team}: {counts['used']} of {counts['quota']} GPUs in use, and it asks for {counts['asked']}",
        f"it could borrow {counts['could_borrow']}",
    ]
    if "most" in counts:
        words.append(f"it may never have more than {counts['most']}, so nothing but another policy, or asking for less, starts it")
    return words


def held_words(counts: Mapping[str, int | str]) -> list[str]:
    """E.g. "waits for job j000123 and 2 more to finish"."""
    if "not_before" in counts:
        return [f"is not to start before {_written(int(counts['not_before']))}"]
    others = int(counts["after"]) - 1
    return [f"waits for job {counts['first']}{f' and {others} more' if others else ''} to finish"]


def budget_words(counts: Mapping[str, int | str]) -> list[str]:
    """E.g. "its lost nodes were replaced 12 times in the last hour, the policy's limit; it goes on at 2030-03-17 17:46 UTC"."""
    limit = "the policy's limit" if counts["recoveries"] == counts["limit"] else f"more than the policy's limit of {counts['limit']}"
    replaced = f"its lost nodes were replaced {many(counts['recoveries'], 'time')} in the last hour, {limit}"
    return [replaced, f"it goes on at {_written(int(counts['until']))}"]


def _written(instant: Instant) -> str:
    """E.g. "2030-03-17 17:46 UTC". Days to dates by Hinnant's civil_from_days: years begin in March, so that the leap day is their last."""
    days, rest = divmod(instant, DAY)
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    month += 3 if month < 10 else -9
    return f"{era * 400 + year + (month <= 2):04d}-{month:02d}-{day:02d} {rest // HOUR:02d}:{rest % HOUR // MINUTE:02d} UTC"

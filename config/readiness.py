"""Whether this process can serve, and if not, why.

What it cannot do without: a database that answers and has the tables of this version, and a hub that keeps up with the logs. Workers are
other processes: while one is missing nothing is placed, but pages still show what is, so that is told as a warning and takes no web process
away.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, close_old_connections, connection
from django.db.migrations.executor import MigrationExecutor

from clusters.domain.ids import SECOND
from clusters.eventlog.log import wall_now
from frontend.live.hub import longest_silence
from tasks.heartbeat import MOST_AGE, PARTS, last_beats

logger = logging.getLogger(__name__)

#: How long a probe waits for the database (seconds); the probe itself is given longer by whoever sends it.
PATIENCE = 3.0

#: The hub looks ten times a second at each log that somebody watches.
MOST_SILENCE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at."""

    name: str
    ok: bool
    reason: str = ""
    needed: bool = True  # False: a warning


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Everything looked at."""

    checks: tuple[Check, ...]

    @property
    def ready(self) -> bool:
        return all(check.ok for check in self.checks if check.needed)

    def told(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "ready": self.ready,
            "reasons": [check.reason for check in self.checks if not check.ok and check.needed],
            "warnings": [check.reason for check in self.checks if not check.ok and not check.needed],
            "checks": {check.name: check.ok for check in self.checks},
        }


class Readiness:
    """Looks at the database on one thread of its own: a database that hangs costs one thread, however often it is asked about."""

    def __init__(self, look: Callable[[], tuple[Check, ...]], patience: float = PATIENCE) -> None:
        self._look = look
        self._patience = patience
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="readiness")
        self._running: Future[tuple[Check, ...]] | None = None
        self._guard = threading.Lock()
        self._troubled: frozenset[str] | None = None  # checks that failed last time

    def look(self) -> Found:
        """All checks; never waits for long."""
        with self._guard:
            if self._running is None or self._running.done():
                self._running = self._thread.submit(self._look)
            running = self._running
        try:
            checks = running.result(self._patience)
        except Late:
            checks = (Check(name="database", ok=False, reason=f"the database has not answered within {self._patience:g} s"),)
        found = Found(checks=(*checks, hub_check(longest_silence())))
        self._note(found)
        return found

    def _note(self, found: Found) -> None:
        """A line in the log whenever the answer has changed."""
        told = found.told()
        troubles = (*told["reasons"], *told["warnings"])
        names = frozenset(check.name for check in found.checks if not check.ok)
        if names != self._troubled:
            self._troubled = names
            ready = "ready" if found.ready else "not ready"
            logger.log(logging.WARNING if names else logging.INFO, "%s%s", ready, f": {'; '.join(troubles)}" if troubles else "")


def look_at_database() -> tuple[Check, ...]:
    """What the database tells; its connection is given back whatever happens."""
    close_old_connections()
    try:
        return (Check(name="database", ok=True), migrations_check(), *part_checks())
    except DatabaseError as error:
        reason = str(error).strip().splitlines()
        return (Check(name="database", ok=False, reason=f"the database cannot be used: {reason[0] if reason else type(error).__name__}"),)
    finally:
        connection.close()


_migrated = threading.Event()  # tables do not go away again: once is enough


def migrations_check() -> Check:
    """Whether the tables are those of this version."""
    if not _migrated.is_set():
        executor = MigrationExecutor(connection)
        missing = [str(migration) for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]
        if missing:
            reason = f"{len(missing)} migrations are missing, {missing[0]} first: run `manage.py migrate`"
            return Check(name="migrations", ok=False, reason=reason)
        _migrated.set()
    return Check(name="migrations", ok=True)


def part_checks() -> tuple[Check, ...]:
    """Whether the other parts show signs of life: a worker of each queue, and who follows the logs."""
    beats, now = last_beats(), wall_now()
    ages = {part: (now - beats[part]) / SECOND if part in beats else None for part in PARTS}
    return tuple(part_check(part, age) for part, age in ages.items())


def part_check(part: str, age: float | None) -> Check:
    if age is not None and age <= MOST_AGE:
        return Check(name=part, ok=True, needed=False)
    heard = "was never heard of" if age is None else f"was last heard of {age:.0f} s ago"
    return Check(name=part, ok=False, needed=False, reason=f"{MEANT[part]} {heard}")


MEANT = {
    "pass": "a worker of the queue `pass`, which places jobs,",
    "slow": "a worker of the queue `slow`, which keeps the lists,",
    "tail": "the part that follows the logs and wakes the workers",
}


def hub_check(silence: float) -> Check:
    """Whether the live hub has read the logs that somebody watches a moment ago."""
    late = silence > MOST_SILENCE
    return Check(name="hub", ok=not late, reason=f"the live hub has not read a watched log for {silence:.0f} s" if late else "")


readiness = Readiness(look_at_database)

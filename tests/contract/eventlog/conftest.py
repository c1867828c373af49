"""The logs that the contract is held against: in memory, and in the database of this run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.log import StoredLog
from clusters.eventlog.memory import MemoryLog, MemoryStore
from tests.contract.eventlog.toy import create

WALL = 1_900_000_000_000_000  # of these tests' logs: their wall clock stands still

#: A log of its own process: the same events, but another live state.
Opener = Callable[[], StoredLog]


# The mark, not a fixture asked for by name while running: only what is known at collection makes a test database.
@pytest.fixture(params=["memory", pytest.param("database", marks=pytest.mark.django_db)])
def opener(request: pytest.FixtureRequest) -> Opener:
    """Opens the log under test, again and again, as separate processes would."""
    if request.param == "database":
        return lambda: DatabaseLog(wall=lambda: WALL)
    store = MemoryStore()
    return lambda: StoredLog(store, lambda: WALL)


@pytest.fixture
def log(opener: Opener) -> StoredLog:
    """A log without clusters."""
    return opener()


@pytest.fixture
def toy(log: StoredLog) -> StoredLog:
    """A log with the cluster "toy": one rack of four nodes."""
    create(log)
    return log


@pytest.fixture
def database_log(db: None) -> DatabaseLog:
    return DatabaseLog(wall=lambda: WALL)


@pytest.fixture
def memory_log() -> MemoryLog:
    return MemoryLog(wall=lambda: WALL)

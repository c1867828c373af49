"""The databases that benchmarks run on: SQLite, and PostgreSQL where SLICEKEEPER_TEST_POSTGRES_URL reaches one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from pytest_django import DjangoDbBlocker

from clusters.eventlog.database import DatabaseLog
from tests.contract.eventlog.playground import playground

POSTGRES_URL = os.environ.get("SLICEKEEPER_TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432/bench")


@pytest.fixture(params=["sqlite", "postgresql"])
def log(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> Iterator[DatabaseLog]:
    """An empty log in a database of its own."""
    url = "sqlite:///" if request.param == "sqlite" else POSTGRES_URL
    try:
        with django_db_blocker.unblock(), playground(tmp_path_factory.mktemp("bench"), url) as ground, ground.log() as opened:
            yield opened
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL at {POSTGRES_URL}: {error}")

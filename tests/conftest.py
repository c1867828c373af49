"""What every test shares: a database of its own, and settings that are safe to test with.

The database is the one of SLICEKEEPER_DATABASE_URL. Without Django (`DJANGO_SETTINGS_MODULE= pytest tests/domain`)
no database is made.
"""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest
from pytest_django.lazy_django import django_settings_is_configured
from pytest_django.plugin import DjangoDbBlocker

# No test fails for the time that it takes, here as in CI.
hypothesis.settings.register_profile("patient", parent=hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("patient")

#: With --few-examples each property tries this part of its examples, and never fewer than FEWEST.
FEW = 1 / 4
FEWEST = 8

#: Where Hypothesis keeps the settings of a test. Its own plugin for pytest sets them there, too.
SETTINGS = "_hypothesis_internal_use_settings"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few-examples", action="store_true", help="properties try a quarter of their examples")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let properties try fewer examples where that was asked for; they keep the number they were written with otherwise."""
    if not config.getoption("--few-examples"):
        return
    for test in {getattr(item.function, "__func__", item.function) for item in items if isinstance(item, pytest.Function)}:
        written = getattr(test, SETTINGS, None)
        if written is not None:
            few = max(FEWEST, round(written.max_examples * FEW))
            setattr(test, SETTINGS, hypothesis.settings(written, max_examples=min(few, written.max_examples)))


def pytest_configure() -> None:
    if not django_settings_is_configured():
        return
    from django.conf import settings

    settings.SECRET_KEY = "only for tests: never signs anything that leaves this process"
    settings.SECURE_SSL_REDIRECT = False
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # Static files from the source tree, also where the run is on PostgreSQL and Redis: nothing was collected.
    settings.STATIC_ROOT = None
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.WHITENOISE_USE_FINDERS = True


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory, django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Keep a SQLite test database in a file: in memory it would know neither WAL nor the locks under test."""
    from django.db import connections

    connection = connections["default"]
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """End what is still connected before the test database is dropped: threads of executors keep their connections as long as they live."""
    yield
    from django.db import connections

    with django_db_blocker.unblock():
        if connections["default"].vendor == "postgresql":
            with connections["default"].cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

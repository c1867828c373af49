"""What every test shares: a database of its own, and settings that are safe to test with.

The database is the one of SLICEKEEPER_DATABASE_URL. Without Django (`DJANGO_SETTINGS_MODULE= pytest tests/domain`)
nothing here is used.
"""

from __future__ import annotations

import pytest
from pytest_django.lazy_django import django_settings_is_configured


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

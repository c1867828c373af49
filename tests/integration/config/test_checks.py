from __future__ import annotations

from pathlib import Path

import pytest
from django.core.checks import Error, Warning, run_checks
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from config import env
from config.checks import refuse_wrong_environment


def test_problems_become_errors_and_warnings_with_hints(settings: Settings, tmp_path: Path) -> None:
    settings.ENVIRONMENT = env.read({env.PORT: "x", "SLICEKEEPER_BINDD": "x"}, tmp_path)
    found = sorted(run_checks(tags=["slicekeeper"]), key=lambda message: str(message.id))
    assert [(type(message), message.id) for message in found] == [
        (Error, "slicekeeper.E006"),
        (Warning, "slicekeeper.W002"),
    ]
    assert all(message.hint for message in found)


def test_a_server_refuses_to_start_on_an_error_and_names_it(settings: Settings, tmp_path: Path) -> None:
    settings.ENVIRONMENT = env.read({env.PORT: "x"}, tmp_path)
    with pytest.raises(ImproperlyConfigured, match=r"slicekeeper\.E006"):
        refuse_wrong_environment()


def test_a_server_starts_on_a_warning(settings: Settings, tmp_path: Path) -> None:
    settings.ENVIRONMENT = env.read({"SLICEKEEPER_BINDD": "x"}, tmp_path)
    refuse_wrong_environment()

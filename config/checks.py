"""System checks of the environment: every wrong variable is an error or a warning with a hint, before anything runs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from config.env import Environment


@register("slicekeeper")
def check_environment(**_: Any) -> list[CheckMessage]:
    """Report what is wrong with the SLICEKEEPER_* variables."""
    environment: Environment = settings.ENVIRONMENT
    return [
        (Error if problem.fatal else Warning)(problem.message, hint=problem.hint, id=f"slicekeeper.{problem.code}")
        for problem in environment.problems
    ]


def refuse_wrong_environment() -> None:
    """Stop a server process that no management command has checked (uvicorn started by hand)."""
    errors = [message for message in check_environment() if message.is_serious()]
    if errors:
        raise ImproperlyConfigured("\n".join(str(error) for error in errors))

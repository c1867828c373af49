#!/usr/bin/env python
"""Run a management command; `python manage.py help` lists them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from config import env


def main() -> None:
    """Make what a first run needs, where the command may begin one; then hand over to Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError as error:
        raise SystemExit("Django is not installed here: run `make install` and use .venv/bin/python.") from error
    environment = env.read(os.environ, Path(__file__).resolve().parent)
    from config.first_run import BEGINS, first_run_trouble, make_no_database

    try:
        if BEGINS.intersection(sys.argv[1:2]):
            env.prepare(environment)
        else:
            make_no_database(environment)
    except OSError as error:
        raise SystemExit(
            f"{env.DATA_DIR} is {str(environment.data_dir)!r}, where nothing can be kept ({error.strerror}); "
            "name a directory that can be written and has room"
        ) from None
    try:
        execute_from_command_line(sys.argv)
    except Exception as error:
        from config.trouble import database_trouble

        told = first_run_trouble(error, environment) or database_trouble(error)
        if told is None or "--traceback" in sys.argv:
            raise
        raise SystemExit(told) from None


if __name__ == "__main__":
    main()

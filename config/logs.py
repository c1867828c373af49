"""Logging: one line a record on standard error, `time level logger message`, safe to read by machines.

A record always starts at column 0 and everything that follows in it does not, so text from outside cannot forge one.
"""

from __future__ import annotations

import logging
import re
import time
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def escape(text: str) -> str:
    """Show control characters instead of sending them to the terminal or starting a new line."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class LineFormatter(logging.Formatter):
    """Escapes the message and indents a traceback below it."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        message = escape(record.getMessage().rstrip("\n"))
        head = f"{self.formatTime(record)} {record.levelname} {record.name} {message}"
        if not record.exc_info:
            return head
        trace = self.formatException(record.exc_info).splitlines()
        return "\n".join([head, *(f"  {escape(line)}" for line in trace)])


def logging_config() -> dict[str, Any]:
    """Return the settings of `logging.config.dictConfig`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": LineFormatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            # Django's own handlers mail admins and print twice.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            # A line a task or a request would drown the rest: the pass runs up to ten times a second.
            "celery": {"level": "WARNING"},
            "kombu": {"level": "WARNING"},
            "uvicorn.access": {"level": "WARNING"},
        },
    }

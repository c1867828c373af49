"""Logging: one record on standard error for each thing that happened, as text for people or as JSON for collectors.

As text a record starts at column 0 and everything that follows in it does not; as JSON it is one line. Text from outside can forge
neither. Passwords in URLs and login tokens are struck out wherever they turn up. Each record carries the id of the request that led to
it (clusters/eventlog/correlation.py), and in a worker the task that was running.
"""

from __future__ import annotations

import json
import logging
import re
import time
from http import HTTPStatus
from typing import Any

from celery import current_task

from clusters.eventlog.correlation import correlation

TEXT = "text"
JSON = "json"
FORMATS = (TEXT, JSON)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SECRET = re.compile(r"(?P<url>://[^/@\s:]*:)[^/@\s]+@|(?P<query>[?&](?:token|key|password|secret)=)[^&\s\"']+")

#: What a record has by itself; anything else was given as `extra`.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "correlation", "task", "task_id"}


def escape(text: str) -> str:
    """Show control characters instead of sending them to the terminal or starting a new line."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def censor(text: str) -> str:
    """Strike out what signs somebody in: the password of a URL, the token of a link."""
    return _SECRET.sub(lambda match: f"{match['url']}***@" if match["url"] else f"{match['query']}***", text)


class Context(logging.Filter):
    """Adds to a record what it belongs to."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.correlation = correlation()
        record.task = getattr(current_task, "name", "")  # a proxy: of nothing, where no task runs
        record.task_id = getattr(getattr(current_task, "request", None), "id", None) or ""
        return True


class Refusals(logging.Filter):
    """Of a request that was refused the line is enough: where the program was when it refused tells nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", 0) == HTTPStatus.FORBIDDEN:
            record.exc_info = None
        return True


class LineFormatter(logging.Formatter):
    """`time level logger message`, a traceback indented below it."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        message = escape(censor(record.getMessage().rstrip("\n")))
        given = [getattr(record, "task", ""), getattr(record, "correlation", "")]
        belongs = escape(" ".join(filter(None, given)))
        head = f"{self.formatTime(record)} {record.levelname} {record.name} {message}"
        if belongs:
            head += f" [{belongs}]"
        if not record.exc_info:
            return head
        trace = self.formatException(record.exc_info).splitlines()
        return "\n".join([head, *(f"  {escape(censor(line))}" for line in trace)])


class JsonFormatter(LineFormatter):
    """One object a line. What was given as `extra` is beside the message where it is a text or a whole number."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": censor(record.getMessage().rstrip("\n")),
            "process": record.process,
        }
        for name in ("correlation", "task", "task_id"):
            if value := getattr(record, name, ""):
                entry[name] = value
        for name, value in vars(record).items():
            if name not in _OWN and isinstance(value, str | int):
                entry.setdefault(name, censor(value) if isinstance(value, str) else value)
        if record.exc_info:
            entry["exception"] = censor(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=True)


def logging_config(form: str = TEXT) -> dict[str, Any]:
    """Return the settings of `logging.config.dictConfig`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {TEXT: {"()": LineFormatter}, JSON: {"()": JsonFormatter}},
        "filters": {"context": {"()": Context}, "refusals": {"()": Refusals}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form, "filters": ["context"]}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            # Django's own handlers mail admins and print twice, uvicorn's print in a form of their own.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "django.request": {"filters": ["refusals"]},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            "uvicorn": {"handlers": [], "level": "INFO", "propagate": True},
            "uvicorn.error": {"handlers": [], "level": "WARNING", "propagate": True},  # tells of each socket
            # A line a task or a request would drown the rest: the pass runs up to ten times a second.
            "celery": {"level": "WARNING"},
            "kombu": {"level": "WARNING"},
            "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": True},
        },
    }

"""Carries the id of the request that led to a task over to the worker that runs it, and keeps Celery from setting logging up anew."""

from __future__ import annotations

from typing import Any

from celery import Task
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun

from clusters.eventlog.correlation import correlated, correlation, is_sound

HEADER = "correlation"
_open: dict[str, Any] = {}  # task id -> the open context of a task that runs here


@before_task_publish.connect
def send_along(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None and correlation():
        headers[HEADER] = correlation()


@task_prerun.connect
def take_up(task_id: str, task: Task[Any, Any], **_: Any) -> None:
    given = getattr(task.request, HEADER, None)
    context = correlated(given if isinstance(given, str) and is_sound(given) else "")
    context.__enter__()
    _open[task_id] = context


@task_postrun.connect
def lay_down(task_id: str, **_: Any) -> None:
    context = _open.pop(task_id, None)
    if context is not None:
        context.__exit__(None, None, None)


@setup_logging.connect
def leave_logging_alone(**_: Any) -> None:
    """Django's settings have set it up; a receiver is all it takes for Celery to leave it so."""

"""The Celery application.

Two queues: "pass" for the scheduling pass, which must never wait behind anything, and "slow" for the rest. Tasks carry
ids only and are safe to run twice: the log is the truth, and a lost message costs no more than one period of the sweep.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, task_prerun
from django.conf import settings
from django.db import close_old_connections
from kombu import Exchange, Queue

from config.database import keep_connections
from config.env import Environment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

QUEUES = ("pass", "slow")

#: Seconds between sweeps of the pass: the net under a wake-up that was lost.
SWEEP_PERIOD = 10.0

#: Seconds between looks at the spares: advice for people may be a little old.
SPARES_PERIOD = 15.0

#: Seconds between looks for what calls for a plan: the net under events that do so at once.
DEFRAG_PERIOD = 5.0

#: Seconds between looks for sources of signals that are due.
POLLS_PERIOD = 5.0

#: Seconds between looks into the in-memory queue. The transport's default of 1 s would make a task wait half of it.
MEMORY_POLL = 0.01


#: Celery closes the database after each task unless told to keep it for so many.
KEEP_FOR_TASKS = 1_000_000


def make_app(environment: Environment) -> Celery:
    """Return the application for one process (memory broker) or several (Redis)."""
    app = Celery("slicekeeper", set_as_current=True)
    app.conf.update(
        imports=("tasks.defrag", "tasks.passes", "tasks.housekeeping", "tasks.polls", "tasks.spares"),
        task_queues=[Queue(name, Exchange(name), routing_key=name) for name in QUEUES],
        task_default_queue="slow",
        task_routes={"tasks.passes.*": {"queue": "pass"}},
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        timezone="UTC",
        worker_hijack_root_logger=False,
        worker_prefetch_multiplier=1,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # a worker that gave up on Redis would have to be started by hand
        beat_scheduler="celery.beat:Scheduler",  # keeps nothing on disk: a period of ten seconds needs no memory
        beat_schedule={
            "sweep": {
                "task": "tasks.passes.sweep",
                "schedule": SWEEP_PERIOD,
                "options": {"queue": "pass", "expires": SWEEP_PERIOD},
            },
            "defrag": {"task": "tasks.defrag.look", "schedule": DEFRAG_PERIOD, "options": {"expires": DEFRAG_PERIOD}},
            "polls": {"task": "tasks.polls.look", "schedule": POLLS_PERIOD, "options": {"expires": POLLS_PERIOD}},
            "spares": {"task": "tasks.spares.look", "schedule": SPARES_PERIOD, "options": {"expires": SPARES_PERIOD}},
        },
    )
    if environment.embedded:
        app.conf.update(
            broker_url="memory://localhost/",
            broker_transport="config.memory.Transport",
            broker_transport_options={"polling_interval": MEMORY_POLL},
        )
    else:
        app.conf.update(broker_url=environment.redis_url, CELERY_DB_REUSE_MAX=KEEP_FOR_TASKS)
    return app


@celeryd_init.connect
def prepare_worker(**_: Any) -> None:
    """Before a worker of its own process forks."""
    keep_connections()


@task_prerun.connect
def look_after_connections(**_: Any) -> None:
    """A connection that broke in the task before is replaced."""
    if not settings.EMBEDDED:
        close_old_connections()


import_module("config.tracing")
app = make_app(settings.ENVIRONMENT)

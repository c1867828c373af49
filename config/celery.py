"""The Celery application.

Two queues: "pass" for the scheduling pass, which must never wait behind anything, and "slow" for the rest. Tasks carry
ids only and are safe to run twice: the log is the truth, and a lost message costs no more than one period of the sweep.
"""

from __future__ import annotations

import os

from celery import Celery
from django.conf import settings
from kombu import Exchange, Queue

from config.env import Environment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

QUEUES = ("pass", "slow")

#: Seconds between sweeps of the pass: the net under a wake-up that was lost.
SWEEP_PERIOD = 10.0

#: Seconds between looks into the in-memory queue. The transport's default of 1 s would make a task wait half of it.
MEMORY_POLL = 0.01


def make_app(environment: Environment) -> Celery:
    """Return the application for one process (memory broker) or several (Redis)."""
    app = Celery("slicekeeper", set_as_current=True)
    app.conf.update(
        imports=("tasks.passes", "tasks.housekeeping"),
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
        beat_scheduler="celery.beat:Scheduler",  # keeps nothing on disk: a period of ten seconds needs no memory
        beat_schedule={
            "sweep": {
                "task": "tasks.passes.sweep",
                "schedule": SWEEP_PERIOD,
                "options": {"queue": "pass", "expires": SWEEP_PERIOD},
            },
        },
    )
    if environment.embedded:
        app.conf.update(
            broker_url="memory://localhost/",
            broker_transport="config.memory.Transport",
            broker_transport_options={"polling_interval": MEMORY_POLL},
        )
    else:
        app.conf.update(broker_url=environment.redis_url)
    return app


app = make_app(settings.ENVIRONMENT)

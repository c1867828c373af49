"""The live socket of one job: its assignment, now and after each change, for programs that would rather not ask again and again."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from django.db import Error as DatabaseError

from clusters.domain.errors import ClusterError, UnknownCluster, UnknownSubject
from frontend.live.hub import GONE, Hub
from frontend.live.subscriber import Subscriber
from frontend.selectors.assignment import Assignment, assignment_of

logger = logging.getLogger(__name__)

#: Closing codes: the job is over, and everything was told; something is wrong here.
DONE = 1000
TROUBLE = 1011


def frame_of(assignment: Assignment) -> str:
    """The assignment as a frame."""
    plain: dict[str, Any] = {"type": "assignment", **msgspec.to_builtins(assignment)}
    return msgspec.json.encode(plain).decode()


async def follow_job(hub: Hub, socket: Subscriber, cluster: str, job: str, after: int) -> None:
    """Tell the socket of the job's assignment at once, and of each later one, until the job is over or the socket is closed."""
    known = after
    try:
        while True:
            assignment = await hub.in_thread(lambda since=known: assignment_of(cluster, job, since)[0])  # type: ignore[misc]
            socket.offer(frame_of(assignment))
            if assignment.over:
                socket.finish(DONE)
                return
            known = max(known, assignment.generation)
            await hub.assignments(cluster).beyond((job, known))
    except (UnknownCluster, UnknownSubject):
        socket.close(GONE)
    except (ClusterError, DatabaseError) as error:
        logger.warning("live: cannot read the assignment of job %r in cluster %r: %s", job, cluster, error)
        socket.close(TROUBLE)

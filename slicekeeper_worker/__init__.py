"""For programs that run on the nodes of a job: which rank this one is, who the others are, and what to do when one of them is replaced.

    worker = join()                       # SLICEKEEPER_URL, _TOKEN, _CLUSTER, _JOB and _NODE say the rest
    print(worker.rank, worker.world)
    if worker.changed: ...                # a node was replaced, or the slice has moved
    worker.report_checkpoint(step=4000)

It needs nothing but Python. `Group` sums vectors over the job's workers, and carries their state over to new ones.
"""

from __future__ import annotations

from slicekeeper_worker.api import Api, ApiError, Unreachable
from slicekeeper_worker.assignment import Assignment, Place
from slicekeeper_worker.group import Group, PeerLost, State, donate
from slicekeeper_worker.wires import Places
from slicekeeper_worker.worker import JobOver, NotPlaced, Worker, join

__all__ = [
    "Api",
    "ApiError",
    "Assignment",
    "Group",
    "JobOver",
    "NotPlaced",
    "PeerLost",
    "Place",
    "Places",
    "State",
    "Unreachable",
    "Worker",
    "donate",
    "join",
]

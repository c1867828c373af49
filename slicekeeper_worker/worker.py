"""A worker: one program on one node of a job, which hears of each new assignment while it works.

A thread of its own waits for the next assignment. The work asks `changed` where it can stop, and `take` for the new assignment. While the
control plane is away nothing changes: work goes on, and the thread asks again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from urllib.parse import quote
from uuid import uuid4

from slicekeeper_worker.api import Api, ApiError, Unreachable
from slicekeeper_worker.assignment import Assignment, Place, read_assignment

#: Seconds that one request waits for news, and between two where something is wrong.
WAIT = 30
PAUSE = 1.0

#: Answers to a report that stay the same however often it is sent: no good token, not allowed, no such job.
NEVER = frozenset({401, 403, 404})


class JobOver(Exception):
    """The job has ended."""


class NotPlaced(Exception):
    """The node has no slot of the job."""


class Worker:
    """One program of a job. `assignment` is what it works by, until it takes the next."""

    def __init__(self, api: Api, job: str, node: str, assignment: Assignment) -> None:
        self.api = api
        self.job = job
        self.node = node
        self.assignment = assignment
        self._deaf = ""  # why nothing is heard of the control plane
        self._unsaved = ""  # why the last checkpoint was not taken
        self._told = False  # that checkpoints are refused
        self._latest = assignment
        self._news = threading.Condition()
        self._leaving = False
        self._progress: tuple[int, int] | None = None  # (generation, step) of a checkpoint that is not told yet
        self._reporter: threading.Thread | None = None
        self._listener = threading.Thread(target=self._listen, name="assignments", daemon=True)
        self._listener.start()

    # ---- who this is

    @property
    def generation(self) -> int:
        """Of the assignment in use."""
        return self.assignment.generation

    @property
    def place(self) -> Place:
        """The slot in use; raises NotPlaced, JobOver."""
        if self.assignment.over:
            raise JobOver(f"job {self.job} is {self.assignment.state}")
        place = self.assignment.place_of(self.node)
        if place is None:
            raise NotPlaced(f"node {self.node} has no slot of job {self.job} in generation {self.generation}")
        return place

    @property
    def rank(self) -> int:
        """Of this node among the job's."""
        return self.place.rank

    @property
    def world(self) -> int:
        """Ranks of the job."""
        return self.assignment.world

    @property
    def trouble(self) -> str:
        """What does not work at present, in words: nothing is heard, or the last checkpoint was not taken; "" where all is well."""
        return "; ".join(filter(None, (self._deaf, self._unsaved)))

    # ---- what changes

    @property
    def changed(self) -> bool:
        """Whether there is a later assignment than the one in use."""
        latest = self._latest
        return latest.generation > self.assignment.generation or latest.over != self.assignment.over

    def wait(self, seconds: float) -> bool:
        """Wait for a later assignment than the one in use; whether there is one."""
        with self._news:
            return self._news.wait_for(lambda: self.changed, seconds)

    def take(self) -> Assignment:
        """Work by the latest assignment from here on."""
        self.assignment = self._latest
        return self.assignment

    # ---- what it reports

    def report_checkpoint(self, step: int) -> None:
        """Progress is safe up to a step. Told in the background: the work does not wait, and of several not told yet the last counts."""
        with self._news:
            self._progress = (self.generation, step)
            if self._reporter is None:
                self._reporter = threading.Thread(target=self._report, name="checkpoints", daemon=True)
                self._reporter.start()
            self._news.notify_all()

    def report_health(self, kind: str, code: str = "worker", text: str = "") -> None:
        """Something is wrong with this node, or well again: see `tell_health`."""
        tell_health(self.api, self.node, kind=kind, code=code, text=text)

    def leave(self) -> None:
        """Hear of nothing any more."""
        with self._news:
            self._leaving = True
            self._news.notify_all()

    # ---- the listener

    def _listen(self) -> None:
        while not self._leaving and not self._latest.over:
            try:
                known = self._latest.generation
                self._hear(ask_assignment(self.api, self.job, known, WAIT))
                self._deaf = ""
            except (ApiError, Unreachable) as error:
                self._deaf = str(error)
                self._rest(PAUSE)

    def _report(self) -> None:
        while not self._leaving:
            with self._news:
                self._news.wait_for(lambda: self._leaving or self._progress is not None)
                progress, self._progress = self._progress, None
            if progress is None:
                return
            try:
                tell_checkpoint(self.api, self.job, *progress)
                self._unsaved = ""
            except (ApiError, Unreachable) as error:
                self._unsaved = str(error)
                self._tell_refused(error)

    def _tell_refused(self, error: ApiError | Unreachable) -> None:
        """Say once, where whoever started the work looks, that no checkpoint will ever be taken: a failure would cost all progress."""
        if isinstance(error, ApiError) and error.status in NEVER and not self._told:
            self._told = True
            print(f"job {self.job}: checkpoints reported by {self.node} are refused: {error}", file=sys.stderr, flush=True)

    def _hear(self, assignment: Assignment) -> None:
        with self._news:
            self._latest = assignment
            self._news.notify_all()

    def _rest(self, seconds: float) -> None:
        with self._news:
            self._news.wait_for(lambda: self._leaving, seconds)


def ask_assignment(api: Api, job: str, after: int, wait: int) -> Assignment:
    """The assignment once it is later than a generation, or the time is up; raises ApiError, Unreachable."""
    return read_assignment(api.get(f"jobs/{quote(job, safe='')}/assignment/", {"after": after, "wait": wait}, wait=wait))


def tell_checkpoint(api: Api, job: str, generation: int | None, step: int) -> None:
    """A job's progress is safe up to a step; raises ApiError, Unreachable. One of an earlier generation is refused."""
    body = {"step": step} if generation is None else {"step": step, "generation": generation}
    api.post(f"jobs/{quote(job, safe='')}/checkpoint/", body, key=f"{job}/checkpoint/{generation}/{step}" if generation is not None else "")


def tell_health(api: Api, node: str, *, kind: str, code: str, text: str = "") -> None:
    """A signal of a node: "fatal", "soft" (a doubt), "degraded", "info", or "recovered", which takes back what was said under the code.

    Needs a token that may send signals. Raises ApiError, Unreachable.
    """
    signal = {"node": node, "kind": kind, "code": code, "text": text, "id": uuid4().hex}  # sent again, it is the same signal
    api.post("signals/", {"feed": "worker", "signals": [signal]})


def join(job: str = "", node: str = "", api: Api | None = None, environ: Mapping[str, str] = os.environ, patience: float = 60.0) -> Worker:
    """Join a job as the program of a node; waits until the node has a slot of it.

    What is not given is read from the environment: SLICEKEEPER_URL, SLICEKEEPER_TOKEN, SLICEKEEPER_CLUSTER, SLICEKEEPER_JOB and
    SLICEKEEPER_NODE. Raises KeyError with the name of what is missing, ValueError where an address or a token is none, ApiError,
    Unreachable, JobOver, and NotPlaced once `patience` seconds have passed.
    """
    if api is None:
        api = Api(url=environ["SLICEKEEPER_URL"], token=environ["SLICEKEEPER_TOKEN"], cluster=environ["SLICEKEEPER_CLUSTER"])
    job, node = job or environ["SLICEKEEPER_JOB"], node or environ["SLICEKEEPER_NODE"]
    ends = time.monotonic() + patience
    known = 0
    while True:
        left = max(0, int(ends - time.monotonic()))
        assignment = ask_assignment(api, job, known, min(WAIT, left))
        if assignment.over:
            raise JobOver(f"job {job} is {assignment.state}")
        if assignment.place_of(node) is not None:
            return Worker(api, job, node, assignment)
        if not left:
            raise NotPlaced(f"node {node} has no slot of job {job} in generation {assignment.generation}")
        known = assignment.generation

"""The work of one job: where it is, and how far it has come.

Work advances while every slot of the job has a node on which it runs. When a slot is lost it stands still until the slot is filled again,
and goes back to its last checkpoint: the whole job, or with recovery from a peer nothing but the lost nodes. Checkpoints are taken at whole
multiples of the interval of work done, and none of these is ever recorded: how far a job has come follows from its own events. Only a
checkpoint that the work was asked for is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from clusters.connectors.base import Slot, Work
from clusters.connectors.simulated.truth import CANCELLED, FAILED, Truth
from clusters.domain.events import Payload
from clusters.domain.ids import SECOND, Duration, Instant
from clusters.domain.job_events import CheckpointReported, JobCancelled, JobFailed, JobFinished, WorkStarted, WorkStopped
from clusters.domain.jobs import Recovery
from clusters.domain.lost_work import checkpoint_interval

Told = tuple[str, Payload]  # what is told of the work, and the id under which it is told


class Run:
    """One job's work. Its methods take in what happened; `due` and `facts` say what happens next."""

    __slots__ = (
        "_done", "_doomed", "_launching", "_saved", "_saving", "_since", "_slots", "_stopping",
        "ended", "ending", "generation", "halting", "nodes", "truth", "work",
    )  # fmt: skip

    def __init__(self, work: Work, truth: Truth) -> None:
        self.work = work
        self.truth = truth
        self.generation = 0  # of the last start
        self.nodes: dict[str, int] = {}  # node -> generation of the work that is on it, or about to be
        self.halting = False  # told to stop everywhere
        self.ending = False  # its end was told, and does not stand in the log yet
        self.ended = False
        self._slots: dict[tuple[int, int], str | None] = {}  # (slice, slot) -> its node; None: lost
        self._launching: dict[str, Instant] = {}  # node -> when its work runs
        self._stopping: dict[str, Instant] = {}  # node -> when its work has stopped as told
        self._doomed: dict[str, Instant] = {}  # node -> when it is found that its work is dead
        self._done: Duration = 0  # of work, up to `_since`
        self._saving: Instant | None = None  # it has been asked to save its progress, and has then
        self._saved: Duration = 0  # of work, by a checkpoint that it was asked for
        self._since: Instant | None = None  # the work advances from then on

    # ---- what happened

    def start(self, generation: int, slots: Iterable[Slot], due: Instant) -> None:
        """The work was told to run in these slots; older tellings, and repeated ones, change nothing."""
        if generation <= self.generation or self.ended:
            return
        self.generation = generation
        if self.halting:  # a new placement
            self.halting = False
            self._slots.clear()
        for slot in slots:
            self._slots[slot.slice, slot.slot] = slot.node
            self.nodes[slot.node] = generation
            self._launching[slot.node] = due

    def stop(self, generation: int, nodes: Iterable[str], due: Instant) -> None:
        """The work was told to stop on these nodes; those that are stopping already stop when they would have."""
        for node in nodes:
            if self._has(node, generation):
                self._stopping.setdefault(node, due)
        occupants = [node for node in self._slots.values() if node is not None]
        self.halting = self.halting or all(node in self._stopping for node in occupants)

    def doom(self, node: str, due: Instant) -> None:
        """The node is dead, and its work with it, which is found at `due`."""
        if node in self.nodes:
            self._launching.pop(node, None)
            self._doomed.setdefault(node, due)

    def started(self, generation: int, nodes: Iterable[str], at: Instant) -> None:
        """Work of this generation runs on these nodes."""
        for node in nodes:
            if self._has(node, generation):
                self._launching.pop(node, None)
        if self._since is None and self._complete():
            self._since = at

    def stopped(self, generation: int, nodes: Iterable[str], at: Instant) -> None:
        """No work up to this generation runs on these nodes any more."""
        gone = {node for node in nodes if self._has(node, generation)}
        for node in gone:
            for places in (self.nodes, self._launching, self._stopping, self._doomed):
                places.pop(node, None)
        lost = [place for place, node in self._slots.items() if node in gone]
        if lost:
            self._slots.update(dict.fromkeys(lost))
            self._fall_back(at)

    def stall(self, at: Instant) -> None:
        """Some slot was lost before `at`."""
        if self._since is not None:
            self._fall_back(at)

    def end(self, generation: int | None, due: Instant) -> bool:
        """The end was reported, of work of this generation (None: of any); whether it counts. What still runs then stops by `due`."""
        self.ending = False
        if generation is not None and generation != self.generation:
            return False
        self.ended = True
        self._saving = None
        for node in self.nodes:
            self._stopping.setdefault(node, due)
        return True

    def save(self, due: Instant) -> None:
        """The work is to have saved its progress by then; it does where it runs."""
        if self._since is not None and self._saving is None and not self.ended:
            self._saving = due

    def saved(self, at: Instant) -> None:
        """A checkpoint holds what was done by `at`."""
        self._saving = None
        if self._since is not None and self._since <= at:
            self._saved = self.progress(at)

    def is_at(self, node: str, slice: int, slot: int | None) -> bool:
        """Whether the node is in this slot, or in some slot of the slice."""
        return any(there == node and of == slice and slot in (None, place) for (of, place), there in self._slots.items())

    def _has(self, node: str, generation: int) -> bool:
        return node in self.nodes and self.nodes[node] <= generation

    def _complete(self) -> bool:
        return bool(self._slots) and not self._launching and all(node in self.nodes for node in self._slots.values())

    def _fall_back(self, at: Instant) -> None:
        """The work stands still, at its last checkpoint if that is where the rest of it resumes from."""
        self._saving = None
        if self._since is not None:
            self._done += max(0, at - self._since)
            self._since = None
        if self.work.request.recovery is Recovery.CHECKPOINT or not any(self._slots.values()):
            self._done = max(self._done - self._done % self._interval, min(self._saved, self._done))

    @property
    def _interval(self) -> Duration:
        return checkpoint_interval(self.work.request)

    # ---- what happens next

    def progress(self, at: Instant) -> Duration:
        """Work done by `at`, checkpointed or not."""
        return self._done + (at - self._since if self._since is not None else 0)

    @property
    def due(self) -> Instant | None:
        """When it has something to tell next."""
        if self.ending:
            return None
        dues = [*self._doomed.values(), *self._stopping.values(), *self._launching.values(), self._saving, self._end]
        return min((due for due in dues if due is not None), default=None)

    @property
    def _end(self) -> Instant | None:
        if self._since is None or self.halting or self.ending or self.ended or self._doomed:
            return None
        return self._since + self.truth.duration - self._done

    def facts(self, at: Instant) -> Iterator[Told]:
        """What is to be told by `at`, with ids that are the same whenever it is told again."""
        if self._end is not None and self._end <= at:
            yield from self._ends()
            return
        for node in _upto(self._doomed, at):
            yield self._stop_of("dead", node, self.nodes[node], (node,), "its node failed")
        for due in sorted({self._stopping[node] for node in _upto(self._stopping, at)}):
            nodes = tuple(node for node in self._stopping if self._stopping[node] == due)
            yield self._stop_of("stop", str(due), self.generation, nodes, "stopped as told")
        if self._saving is not None and self._saving <= at:
            step = self.progress(self._saving) // SECOND
            yield (
                self._id(self.generation, "saved", str(self._saving)),
                CheckpointReported(job=self.work.job, generation=self.generation, step=step),
            )
        launched = _upto(self._launching, at)
        for generation in sorted({self.nodes[node] for node in launched}):
            nodes = tuple(node for node in launched if self.nodes[node] == generation)
            yield self._id(generation, "start"), WorkStarted(job=self.work.job, generation=generation, nodes=nodes)

    def _ends(self) -> Iterator[Told]:
        job, generation, outcome = self.work.job, self.generation, self.truth.outcome
        end: Payload
        if outcome == FAILED:
            end = JobFailed(job=job, generation=generation, reason="its program exited with an error")
        elif outcome == CANCELLED:
            end = JobCancelled(job=job, reason="cancelled by its user")
        else:
            end = JobFinished(job=job, generation=generation)
        yield self._id(generation, "end"), end
        yield self._stop_of("ended", "", generation, tuple(self.nodes), outcome)

    def _stop_of(self, what: str, which: str, generation: int, nodes: Sequence[str], reason: str) -> Told:
        fact = WorkStopped(job=self.work.job, generation=generation, nodes=tuple(nodes), reason=reason)
        return self._id(self.generation, what, which), fact

    def _id(self, generation: int, *what: str) -> str:
        return "/".join(("w", self.work.job, str(generation), *filter(None, what)))


def _upto(dues: dict[str, Instant], at: Instant) -> list[str]:
    return [node for node, due in dues.items() if due <= at]

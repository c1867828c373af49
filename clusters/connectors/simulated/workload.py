"""The work on a fleet: every job that has not ended, waiting or running."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from clusters.connectors.base import Slot, Work
from clusters.connectors.simulated.agenda import Agenda
from clusters.connectors.simulated.options import FleetOptions
from clusters.connectors.simulated.run import Run, Told
from clusters.connectors.simulated.truth import Truth
from clusters.domain.ids import SECOND, Duration, Instant

#: Work that is asked to save its progress has done so after this time.
SAVE: Duration = 10 * SECOND


class Workload:
    """Runs by job. `is_down` says which nodes cannot run work."""

    def __init__(self, options: FleetOptions, is_down: Callable[[str], bool]) -> None:
        self._options = options
        self._is_down = is_down
        self._runs: dict[str, Run] = {}
        self._agenda = Agenda()
        self.waiting: dict[str, Work] = {}  # jobs that want to be placed

    # ---- what happened

    def submitted(self, work: Work, truth: Truth, *, held: bool) -> None:
        """A job exists."""
        self._runs[work.job] = Run(work, truth)
        if not held:
            self.waiting[work.job] = work

    def waits(self, job: str, *, wants: bool) -> None:
        """The job wants to be placed, or does not for now."""
        run = self._runs.get(job)
        if wants and run is not None:
            self.waiting[job] = run.work
        else:
            self.waiting.pop(job, None)

    def work_of(self, job: str) -> Work | None:
        """The work of a job that has not ended."""
        run = self._runs.get(job)
        return run.work if run is not None else None

    def start(self, job: str, generation: int, slots: Sequence[Slot], at: Instant) -> None:
        """Told at `at` to start. What is to start on a dead node is found dead when it would have run."""
        run = self._runs.get(job)
        if run is None:
            return
        self.waiting.pop(job, None)
        due = at + self._options.launch
        run.start(generation, slots, due)
        for slot in slots:
            if self._is_down(slot.node):
                run.doom(slot.node, due)
        self._changed(run)

    def stop(self, job: str, generation: int, nodes: Sequence[str], at: Instant, grace: Duration | None) -> None:
        """Told at `at` to stop."""
        run = self._runs.get(job)
        if run is not None:
            delay = self._options.stop if grace is None else min(grace, self._options.stop)
            run.stop(generation, nodes, at + delay)
            self._changed(run)

    def save(self, job: str, at: Instant) -> None:
        """Told at `at` to save its progress."""
        run = self._runs.get(job)
        if run is not None:
            run.save(at + SAVE)
            self._changed(run)

    def saved(self, job: str, at: Instant) -> None:
        """The job's progress up to `at` is safe."""
        run = self._runs.get(job)
        if run is not None:
            run.saved(at)
            self._changed(run)

    def started(self, job: str, generation: int, nodes: Sequence[str], at: Instant) -> None:
        """The work runs there."""
        run = self._runs.get(job)
        if run is not None:
            run.started(generation, nodes, at)
            self._changed(run)

    def stopped(self, job: str, generation: int, nodes: Sequence[str], at: Instant) -> None:
        """The work has stopped there."""
        run = self._runs.get(job)
        if run is not None:
            run.stopped(generation, nodes, at)
            self._changed(run)

    def lost(self, job: str, nodes: Sequence[str], at: Instant) -> None:
        """The job no longer has these nodes: their work is dead for certain."""
        run = self._runs.get(job)
        if run is not None:
            self.stopped(job, run.generation, nodes, at)

    def replaced(self, job: str, slice: int, nodes: Sequence[str], at: Instant, *, slot: int | None = None) -> None:
        """The job lost these nodes of a slice, or of one slot of it, some time ago; it may have got them again elsewhere since."""
        run = self._runs.get(job)
        if run is not None:
            self.lost(job, [node for node in nodes if run.is_at(node, slice, slot)], at)

    def stalled(self, job: str, at: Instant) -> None:
        """The job lacks nodes; which, others have said, or will."""
        run = self._runs.get(job)
        if run is not None:
            run.stall(at)
            self._changed(run)

    def dead(self, node: str, at: Instant) -> None:
        """The node died; its work is found dead at once."""
        for run in self._runs_on(node):
            run.doom(node, at)
            self._changed(run)

    def vanished(self, node: str, at: Instant) -> None:
        """The node died, and everybody knows that its work is dead."""
        for run in self._runs_on(node):
            self.lost(run.work.job, (node,), at)

    def ending(self, job: str) -> None:
        """The job's end is about to be told."""
        run = self._runs[job]
        run.ending = True
        self._changed(run)

    def is_ending(self, job: str) -> bool:
        """Whether the job's end was told, and does not stand in the log yet."""
        return job in self._runs and self._runs[job].ending

    def ended(self, job: str, generation: int | None, at: Instant) -> None:
        """The end of the job was reported; it counts unless work of a later generation has been started since."""
        run = self._runs.get(job)
        if run is None:
            return
        if run.end(generation, at + self._options.stop):
            self.waiting.pop(job, None)
        self._changed(run)

    def _changed(self, run: Run) -> None:
        job = run.work.job
        if run.ended and not run.nodes:
            del self._runs[job]
            self._agenda.set(job, None)
        else:
            self._agenda.set(job, run.due)

    # ---- what is, and what happens next

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs.values())

    def jobs_on(self, node: str) -> tuple[str, ...]:
        """The jobs whose work is on the node, or about to be."""
        return tuple(run.work.job for run in self._runs_on(node) if not run.ending)

    def _runs_on(self, node: str) -> list[Run]:
        return [run for run in self._runs.values() if node in run.nodes]

    def nodes_of(self, job: str) -> tuple[str, ...]:
        """Where the job's work is, or is about to be."""
        run = self._runs.get(job)
        return tuple(run.nodes) if run is not None else ()

    @property
    def due(self) -> Instant | None:
        """When there is something to tell next."""
        return self._agenda.first()

    def facts(self, at: Instant) -> list[Told]:
        """What is to be told by `at`."""
        return [told for job in self._agenda.take(at) for told in self._runs[job].facts(at)]

"""What carries a local fleet: it follows the log, lets the fleet do what is decided, and tells the log what happens.

A turn that fails, because the database is away, loses nothing: what was not acknowledged is told by the next one.
"""

from __future__ import annotations

from clusters.connectors.base import Slot, Work
from clusters.connectors.effects import carry_out, effect_of
from clusters.connectors.local.fleet import LOCAL_SOURCE, LocalFleet
from clusters.connectors.local.program import Program
from clusters.domain.clock import Clock
from clusters.domain.events import Event
from clusters.domain.health import Flag
from clusters.domain.health_events import NodeFailed, RepairFinished
from clusters.domain.ids import Instant
from clusters.domain.inventory_events import ClockSet, NodeRegistered, NodeRemoved
from clusters.domain.jobs import JobState
from clusters.domain.state import Job, Node
from clusters.eventlog.log import wall_now
from clusters.eventlog.port import EventLog, Guard

#: Seconds between looks at the log while the nodes are silent.
LOOK_SECONDS = 0.02


class LocalDriver:
    """Drives one fleet from the position at which it is made. What ran before has ended with who drove it then, and is told stopped."""

    def __init__(self, log: EventLog, cluster: str, program: Program, guard: Guard | None = None) -> None:
        self._log = log
        self._cluster = cluster
        self._guard = guard
        self._cursor = ""
        self.fleet = LocalFleet(program, self._now, f"{wall_now():x}")
        with log.live(cluster).reading() as state:
            self._position = state.seq
            self._clock = state.clock
            nodes = list(state.nodes.values())
            fresh = [(_work_of(job), job.generation, _slots_of(job)) for job in state.jobs.values() if _is_fresh(job)]
            left = [(job.id, job.generation, dict(job.held_nodes)) for job in state.jobs.values() if not _is_fresh(job)]
        for node in nodes:
            self.fleet.add(node.name)
            if _found_dead(node):
                self.fleet.recovered(node.name)
            if node.asked_at is not None:  # what ran it has ended with who drove it then
                self.fleet.check(node.name, node.checks)
        for job, generation, held in left:
            self.fleet.forget(job, generation, held)
        for work, generation, slots in fresh:
            self.fleet.start(work, generation, slots)

    def turn(self) -> None:
        """Do what was decided, listen to the nodes for a moment, and tell what they say."""
        for event in self._log.read(self._cluster, self._position):
            self._take(event)  # taken again if anything goes wrong: effects work once
            self._position = event.seq
        self.fleet.pump(LOOK_SECONDS)
        observed = self.fleet.observe(self._cursor)
        if observed.facts:
            self._log.append_facts(self._cluster, observed.facts, self._guard)
        self._cursor = observed.cursor

    def close(self) -> None:
        """End all processes."""
        self.fleet.close()

    def _now(self) -> Instant:
        """Asks no database: what nodes say is kept, and told once the log can be written again."""
        return self._clock.reading(wall_now())

    def _take(self, event: Event) -> None:
        payload = event.payload
        if isinstance(payload, ClockSet):
            self._clock = Clock(wall=payload.wall, cluster_time=payload.cluster_time, speed=payload.speed)
        elif isinstance(payload, NodeRegistered):
            self.fleet.add(payload.node)
        elif isinstance(payload, NodeRemoved):
            self.fleet.remove(payload.node)
        elif isinstance(payload, RepairFinished):
            self.fleet.repair(payload.node)
        elif isinstance(payload, NodeFailed) and payload.fencing and event.source != LOCAL_SOURCE:
            self.fleet.fail(payload.node)
        effect = effect_of(payload)
        if effect is not None:
            carry_out(effect, self.fleet, self._work)

    def _work(self, job: str) -> Work | None:
        with self._log.live(self._cluster).reading() as state:
            known = state.jobs.get(job)
            return None if known is None else _work_of(known)


def _work_of(job: Job) -> Work:
    return Work(job=job.id, request=job.request, arrival=job.arrival)


def _is_fresh(job: Job) -> bool:
    """Whether the job was placed, and nothing of it has run."""
    return job.state is JobState.PLACED and set(job.unstarted) == job.held_nodes.keys()


def _slots_of(job: Job) -> list[Slot]:
    return [
        Slot(slice=number, slot=slot, node=node, gpus=part.gpus)
        for number, part in enumerate(job.slices)
        for slot, node in enumerate(part.nodes)
        if node is not None
    ]


def _found_dead(node: Node) -> bool:
    """Whether a fleet of this kind said that the node is dead or silent, and nobody since that it is well."""
    flags = (Flag.FAILED, Flag.UNREACHABLE)
    return any(mark.on and flag in flags and source == LOCAL_SOURCE for (flag, source), mark in node.marks.items())

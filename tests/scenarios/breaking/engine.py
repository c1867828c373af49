"""An engine that does as it is told, and reports it late, in any order, or of old generations."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from clusters.connectors.effects import Check, Start, Stop, effect_of
from clusters.domain import job_events as ev
from clusters.domain.events import Payload
from clusters.domain.health_events import NodeChecked
from tests.scenarios.breaking.ground import NAME, Ground

SOURCE = "engine"


class Engine:
    """What it has still to report."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._asked = ground.log.head(NAME)  # up to which position effects were carried out
        self._due: list[Payload] = []
        self.told: list[Payload] = []

    def work(self, chance: Random) -> None:
        """Report some of what was done, the oldest or the newest first."""
        self._take_in()
        for _ in range(chance.choice((1, 3, 9))):
            if self._due:
                fact = self._due.pop(chance.choice((0, 0, -1)))
                self._tell(replace(fact, passed=chance.random() < 0.7) if isinstance(fact, NodeChecked) else fact)

    def lose(self, name: str, chance: Random) -> None:
        """Work dies on one of the job's nodes."""
        job = self._ground.state.jobs[name]
        nodes = tuple(chance.sample(sorted(job.held_nodes), min(len(job.held_nodes), 1)))
        self._tell(ev.WorkStopped(job=name, generation=max(0, job.generation - chance.choice((0, 0, 1))), nodes=nodes))

    def end(self, name: str, chance: Random) -> None:
        """The work of the job ends, and its processes with it, or not yet."""
        job = self._ground.state.jobs[name]
        generation = max(0, job.generation - chance.choice((0, 0, 0, 1)))
        ends: tuple[Payload, ...] = (
            ev.JobFinished(job=name, generation=generation),
            ev.JobFailed(job=name, generation=generation, reason="an error"),
        )
        nodes = tuple(job.held_nodes)
        self._tell(chance.choice(ends))
        if chance.random() < 0.7:
            self._tell(ev.WorkStopped(job=name, generation=generation, nodes=nodes))

    def catch_up(self) -> bool:
        """Report all that is due; whether there was anything."""
        self._take_in()
        due, self._due = self._due, []
        for fact in due:
            self._tell(fact)
        return bool(due)

    def _take_in(self) -> None:
        for event in self._ground.log.read(NAME, self._asked):
            effect = effect_of(event.payload)
            if isinstance(effect, Start):
                nodes = tuple(slot.node for slot in effect.slots)
                self._due.append(ev.WorkStarted(job=effect.job, generation=effect.generation, nodes=nodes))
            elif isinstance(effect, Stop):
                self._due.append(ev.WorkStopped(job=effect.job, generation=effect.generation, nodes=effect.nodes))
            elif isinstance(effect, Check):
                self._due.append(NodeChecked(node=effect.node, number=effect.number, passed=True))
        self._asked = self._ground.log.head(NAME)

    def _tell(self, fact: Payload) -> None:
        self.told.append(fact)
        self._ground.tell(fact, source=SOURCE)

"""A log in a list: append payloads, fold them, read the state."""

from __future__ import annotations

from clusters.domain.errors import BrokenInvariant
from clusters.domain.events import Event, Payload, PolicyActivated, subject_of
from clusters.domain.evolve import evolve
from clusters.domain.invariants import check
from clusters.domain.inventory_events import ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.state import ClusterState


class Log:
    """Events and the state they fold to."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.state = ClusterState()

    def add(self, *payloads: Payload, at: int = 0, source: str = "test", source_seq: int | None = None) -> Log:
        for payload in payloads:
            seq = len(self.events) + 1
            event = Event(
                seq=seq,
                kind=type(payload).__name__,
                version=payload.VERSION,
                occurred_at=at,
                recorded_at=0,
                subject=subject_of(payload),
                payload=payload,
                source=source,
                source_id=str(seq),
                source_seq=source_seq,
                causation=None,
                correlation="",
            )
            self.events.append(event)
            evolve(self.state, event)
        return self

    def sound(self) -> ClusterState:
        """The state, once all invariants were found to hold."""
        broken = check(self.state)
        if broken:
            raise BrokenInvariant("; ".join(broken))
        return self.state


def cluster(racks: int = 2, nodes: int = 18, gpus: int = 4, policy: Policy | None = None) -> Log:
    """A log of `racks` racks r1.. with one domain each, nodes r1-n1.."""
    log = Log().add(ClusterCreated(name="test", connector="none"))
    log.add(PolicyActivated(version=1, policy=policy or Policy(), reason="", by="test"))
    for rack in range(1, racks + 1):
        log.add(RackRegistered(rack=f"r{rack}", block="b1", switch_trays=9))
        for node in range(1, nodes + 1):
            log.add(NodeRegistered(node=f"r{rack}-n{node}", rack=f"r{rack}", domain=f"r{rack}", gpus=gpus))
    return log


def request(nodes: int | None = 1, gpus: int | None = None) -> JobRequest:
    return JobRequest(name="work", kind=JobKind.TRAINING, nodes=nodes, gpus=gpus)


def node_names(rack: int, first: int, last: int) -> tuple[str, ...]:
    return tuple(f"r{rack}-n{node}" for node in range(first, last + 1))

"""A small cluster in a log in memory, to be watched."""

from __future__ import annotations

from clusters.domain.commands import RunPass
from clusters.domain.decision import Decision
from clusters.domain.events import NewEvent, Payload, PolicyActivated
from clusters.domain.inventory_events import ClusterCreated, NodeRegistered, RackRegistered
from clusters.domain.job_events import JobPlaced, JobSubmitted, SliceAssignment
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.eventlog.log import StoredLog
from clusters.eventlog.memory import MemoryLog
from clusters.eventlog.port import Committed
from clusters.eventlog.request import Request

NAME = "small"


class SmallCluster:
    """Racks r1.. of `size` nodes, each its own domain, two racks a block."""

    def __init__(self, *, racks: int = 3, size: int = 4, log: StoredLog | None = None) -> None:
        self.log = log or MemoryLog()
        self.count = 0
        self.log.create(NAME, [self.fact(ClusterCreated(name=NAME, connector="none")), self.fact(policy())])
        for rack in range(1, racks + 1):
            self.register(f"r{rack}", f"b{(rack + 1) // 2}", [f"r{rack}-n{node}" for node in range(1, size + 1)])

    def fact(self, payload: Payload) -> NewEvent:
        self.count += 1
        return NewEvent(payload, 0, "test", str(self.count))

    def register(self, rack: str, block: str, nodes: list[str], domain: str | None = None) -> None:
        self.add(
            RackRegistered(rack=rack, block=block, switch_trays=9),
            *(NodeRegistered(node=node, rack=rack, domain=domain or rack, gpus=4) for node in nodes),
        )

    def add(self, *payloads: Payload) -> int:
        """Append facts; the position of the last."""
        return self.log.append_facts(NAME, [self.fact(payload) for payload in payloads])[-1].seq

    def decide(self, *payloads: Payload) -> None:
        """Commit a decision of these events."""
        request = Request(command=RunPass(), source="scheduler", request_id=None)
        outcome = self.log.commit(NAME, request, lambda *_: Decision(events=payloads))
        assert isinstance(outcome, Committed)

    def submit(self, nodes: int = 1) -> str:
        """A new job."""
        request = JobRequest(name="work", kind=JobKind.TRAINING, nodes=nodes)
        return f"j{self.add(JobSubmitted(request=request, submitted_by='ada')):06d}"

    def place(self, job: str, *nodes: str, generation: int = 1) -> None:
        """Give the job these nodes of one rack."""
        domain = nodes[0].split("-")[0]
        self.decide(JobPlaced(job=job, generation=generation, slices=(SliceAssignment(domain=domain, nodes=nodes),)))


def policy() -> PolicyActivated:
    return PolicyActivated(version=1, policy=Policy(), reason="", by="test")

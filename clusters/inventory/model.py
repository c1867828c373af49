"""What a file says exists, whatever its format: the result of reading, before it is compared with what the cluster has.

Reading never raises over what a file says: each bad item becomes a Problem that names its position, what is wrong and what would be right.
One fatal problem refuses the whole file, so that a bad file changes nothing; the others are shown beside the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from clusters.domain.errors import ClusterError
from clusters.domain.health import Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a file."""

    position: str  # "document 1, item 7", "line 3, column 9", or "" for the whole file
    name: str  # the node, rack or label it is about; "" if it has no name
    message: str  # what is wrong and what would be right
    fatal: bool

    def __str__(self) -> str:
        """The problem in one line."""
        where = ", ".join(part for part in (self.position, self.name) if part)
        return f"{where}: {self.message}" if where else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryNode:
    """One node of the file."""

    name: str
    rack: str
    domain: str | None  # None: unknown, a data error told in `problem`
    gpus: int
    position: str = field(compare=False)
    product: str = ""
    problem: str = ""
    evidence: tuple[str, ...] = ()
    flags: tuple[tuple[Flag, str], ...] = ()  # with the reason of each, in the order of Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRack:
    """One rack of the file."""

    name: str
    block: str
    switch_trays: int
    fabric_gbps: int | None = None  # gigabits a second of each GPU's own port to the network; None: the file does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """All that a file says, in natural order of names; without nodes and racks where a problem is fatal."""

    nodes: tuple[InventoryNode, ...] = ()
    racks: tuple[InventoryRack, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the file is too wrong to be imported."""
        return any(problem.fatal for problem in self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The work on a node, and the place that it keeps the node in."""

    jobs: tuple[str, ...]
    domain: str | None
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNode:
    """What the cluster has of a node now."""

    rack: str
    domain: str | None
    gpus: int
    product: str = ""
    problem: str = ""
    evidence: tuple[str, ...] = ()
    absent: bool = False
    flags: Mapping[Flag, str] = field(default_factory=dict)  # set by imports, with their reasons
    others: frozenset[Flag] = frozenset()  # set by any other source
    held: Held | None = None  # None: no work is on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the cluster has now, as far as an import can tell it apart."""

    nodes: Mapping[str, KnownNode] = field(default_factory=dict)
    racks: Mapping[str, InventoryRack] = field(default_factory=dict)

    def fabric_gbps(self, rack: str) -> int | None:
        """What a file that does not know the network leaves as it is."""
        return self.racks[rack].fabric_gbps if rack in self.racks else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user says about reading the file."""

    rack_label: str | None = None  # the Kubernetes label that names the rack
    domain_label: str | None = None  # the Kubernetes label that names the domain
    topology: bytes | None = None  # Slurm's topology.yaml or topology.conf, beside the nodes


class Source(Protocol):
    """A file that was read and can be laid over what is known."""

    def inventory(self, known: Known) -> Inventory:
        """What the file says, in the light of what is known; never raises."""


class BadInventory(ClusterError):
    """The inventory file cannot be imported; nothing was changed."""

    code: ClassVar[str] = "bad-inventory"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        fatal = [str(problem) for problem in self.problems if problem.fatal]
        more = f" (and {len(fatal) - SHOWN} more)" if len(fatal) > SHOWN else ""
        super().__init__(f"nothing was imported: {'; '.join(fatal[:SHOWN])}{more}")


class TooManyAbsent(BadInventory):
    """The inventory file leaves out more of the cluster's nodes than the caller has allowed."""


#: What an import takes, for messages about files that are something else.
WANTED = (
    "give Kubernetes nodes (kubectl get nodes -o json), Slurm nodes (scontrol show nodes --json) "
    "or a native inventory (YAML with kind: SlicekeeperInventory)"
)
#: Problems told in the error's own sentence; `problems` has them all.
SHOWN = 3


def fatal(position: str, name: str, message: str) -> Problem:
    """A problem that refuses the file."""
    return Problem(position=position, name=name, message=message, fatal=True)


def note(position: str, name: str, message: str) -> Problem:
    """A problem that is shown beside the result."""
    return Problem(position=position, name=name, message=message, fatal=False)

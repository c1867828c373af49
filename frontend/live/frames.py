"""What browsers are sent: a snapshot over HTTP, then frames over a socket. Both are encoded once, whoever asks how often.

A delta carries absolute values and the positions it leads `from` and `to`: applying one twice is harmless, and a browser whose position
is before `from` has missed something and fetches a snapshot.
"""

from __future__ import annotations

import msgspec

encode = msgspec.json.Encoder().encode


def text_of(frame: Frame) -> str:
    """The frame as the sockets send it."""
    return encode(frame).decode()


class Clock(msgspec.Struct, frozen=True):
    """Cluster time at a wall time, and how fast it runs."""

    wall_us: int
    cluster_us: int
    speed: float


class Fleet(msgspec.Struct, frozen=True):
    """The simulated fleet that drives a cluster."""

    speed: float
    lag_s: float  # wall seconds that it is behind its own clock
    paused: bool


class Counts(msgspec.Struct, frozen=True):
    """The two partitions of the nodes."""

    nodes: int
    condition: dict[str, int]
    use: dict[str, int]


class Capacity(msgspec.Struct, frozen=True):
    """Domains by what they have: with the model's table for a slice size, this is what such slices can use now."""

    nodes: int  # of all domains
    unavailable: int  # of them
    levels: list[tuple[int, int, int]]  # nodes of a domain, of these available, so many such domains


class Rack(msgspec.Struct, frozen=True):
    """A rack's nodes are `first` to `first + count - 1`."""

    name: str
    block: int
    first: int
    count: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the map shows, at one position; see docs/guides/api.md."""

    epoch: str
    seq: int
    cluster: str
    clock: Clock
    blocks: tuple[str, ...]
    racks: tuple[Rack, ...]
    nodes: tuple[str, ...]
    domains: tuple[str, ...]
    node_domain: tuple[int, ...]
    condition: bytes  # one byte a node; base64 in JSON
    use: bytes
    jobs: list[str]
    node_job: list[int]
    counts: Counts
    job_counts: dict[str, int]
    fleet: Fleet | None
    rack_states: dict[str, str]  # of racks that are not open, by name


class Hello(msgspec.Struct, frozen=True, tag_field="type", tag="hello"):
    """The first frame of a socket."""

    epoch: str
    seq: int


class Delta(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="delta"):
    """What changed between two positions."""

    epoch: str
    from_: int = msgspec.field(name="from")
    to: int
    nodes: list[tuple[int, int, int, str]]  # draw index, condition, use, job or ""
    counts: Counts
    capacity: Capacity
    job_counts: dict[str, int]
    jobs: list[str]  # that look different now
    clock: Clock
    fleet: Fleet | None
    rack_states: dict[str, str]  # of all racks that are not open now


class Resync(msgspec.Struct, frozen=True, tag_field="type", tag="resync"):
    """Fetch a snapshot: what follows does not join on to what you have."""

    reason: str


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping"):
    """Answer with a pong, or be taken for gone."""


Frame = Hello | Delta | Resync | Ping
PING = text_of(Ping())

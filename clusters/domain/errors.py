"""The error tree of the clusters package.

ClusterError
├── UnknownCluster      no cluster of that name
├── ClusterExists       a cluster of that name is there already
├── UnknownSubject      no node, rack or job of that name in the cluster
├── InvalidRequest      a value is wrong; names the field, the value, what would be right
├── SourceConflict      the same (source, source_id) was stored with other content
├── SourceSequence      a source that is sequenced sent a fact without source_seq, or the other way round
├── BadInventory        an inventory file cannot be imported (clusters.inventory.model)
├── FencedOut           the writer lost its lease to a newer holder
├── UnknownEvent        an event kind or a newer version than this program knows
└── BrokenInvariant     an event contradicts the state it is folded into: the log or the program is wrong

The docstring is the default message. `code` is stable and is what programs branch on; HTTP statuses are mapped in one place elsewhere.
"""

from __future__ import annotations

from typing import ClassVar


class ClusterError(Exception):
    """Something is wrong with a cluster."""

    code: ClassVar[str] = "cluster-error"

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or ""))


class UnknownCluster(ClusterError):
    """There is no cluster of that name."""

    code = "unknown-cluster"


class ClusterExists(ClusterError):
    """A cluster of that name exists already."""

    code = "cluster-exists"


class UnknownSubject(ClusterError):
    """There is no node, rack or job of that name in this cluster."""

    code = "unknown-subject"


class InvalidRequest(ClusterError):
    """A value is not valid."""

    code = "invalid"

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: {value!r} is not valid; {expected}")
        self.field = field
        self.value = value
        self.expected = expected


class SourceConflict(ClusterError):
    """This source has already sent that source_id with other content."""

    code = "source-conflict"


class SourceSequence(ClusterError):
    """A source either always or never gives source_seq, as its first event did."""

    code = "source-sequence"


class FencedOut(ClusterError):
    """Another process has taken over this lease."""

    code = "fenced-out"


class UnknownEvent(ClusterError):
    """The log holds an event that this version does not know; upgrade before reading on."""

    code = "unknown-event"


class BrokenInvariant(ClusterError):
    """An event contradicts the state before it."""

    code = "broken-invariant"

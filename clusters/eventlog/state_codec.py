"""The folded state as bytes and back, for snapshots.

Snapshots save time and are never the truth. One that is damaged, or that an older fold made, is passed over; the one before it, or the
log from its beginning, takes its place.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from clusters.domain.dump import dump_state, load_state
from clusters.domain.state import ClusterState
from clusters.eventlog.codec import DIGEST_BYTES
from clusters.eventlog.storage import StoredSnapshot

logger = logging.getLogger(__name__)

#: Raised whenever the state's dump changes its shape, or the same log may fold into another state than before.
FOLD_VERSION = 16

FAST = 1  # compression level: a snapshot is written far more often than read, and the levels above gain little


def pack(state: ClusterState) -> StoredSnapshot:
    """The state as a snapshot."""
    blob = zlib.compress(msgspec.json.encode(dump_state(state)), FAST)
    return StoredSnapshot(state.seq, FOLD_VERSION, _checksum(blob), blob)


def unpack(snapshot: StoredSnapshot) -> ClusterState | None:
    """The state, unless the snapshot is damaged or an older fold made it."""
    if snapshot.version != FOLD_VERSION or _checksum(snapshot.blob) != snapshot.checksum:
        return None
    return load_state(msgspec.json.decode(zlib.decompress(snapshot.blob)))


def latest_sound(cluster: str, snapshots: Iterable[StoredSnapshot]) -> ClusterState | None:
    """The state of the first usable snapshot; they come latest first."""
    for snapshot in snapshots:
        state = unpack(snapshot)
        if state is not None:
            return state
        logger.warning("the snapshot of cluster %r at %d is damaged, or of another version, and was passed over", cluster, snapshot.seq)
    return None


def _checksum(blob: bytes) -> bytes:
    return blake2b(blob, digest_size=DIGEST_BYTES).digest()

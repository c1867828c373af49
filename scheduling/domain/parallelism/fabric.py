"""What the links between GPUs carry, in bytes a second, one direction of one GPU.

The figures compare like with like: one direction inside with one direction outside. A factor of 36 comes from comparing both directions of
NVLink with one of the network, and is not used.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusters.domain.errors import InvalidRequest
from clusters.domain.fabric import PORT_TBS

GIGA = 1e9

#: NVLink 5: a GPU has 18 ports of 50 GB/s in each direction, one to each of the rack's 18 NVSwitch chips (NVIDIA GB200 NVL72: 1.8 TB/s a
#: GPU, both directions together).
NVLINK_PORTS = 18
NVLINK_PORT_GBS = PORT_TBS * 1_000 / 2  # of both directions
#: Gigabits a second of one GPU's own network port, where the caller says nothing else: InfiniBand NDR, one 400 Gb/s port a GPU.
FABRIC_GBPS = 400.0

_BITS = 8
_MOST_GBPS = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Bytes a second, one direction of one GPU."""

    inside: float  # to a GPU of the same NVLink domain
    outside: float  # to any other GPU

    @property
    def ratio(self) -> float:
        """How much slower the way out of the domain is."""
        return self.inside / self.outside


def nvlink_links(fabric_gbps: float = FABRIC_GBPS, lost_chips: int = 0) -> Links:
    """NVLink 5 inside, a network port of so many gigabits a second outside; each NVSwitch chip that is lost takes a port of every GPU.

    Raises InvalidRequest.
    """
    if not 0 < fabric_gbps <= _MOST_GBPS:
        raise InvalidRequest("fabric_gbps", fabric_gbps, f"give gigabits a second of one GPU's port, above 0 and up to {_MOST_GBPS:g}")
    if not 0 <= lost_chips < NVLINK_PORTS:
        raise InvalidRequest("lost_chips", lost_chips, f"give a whole number from 0 to {NVLINK_PORTS - 1}")
    return Links(inside=(NVLINK_PORTS - lost_chips) * NVLINK_PORT_GBS * GIGA, outside=fabric_gbps / _BITS * GIGA)

"""The Kubernetes labels that tell where a node is, in the order in which they are believed.

A rack named by whoever runs the building or the cloud comes before one derived from the fabric, since a fabric's id changes when it is set
up anew and a node loses its clique when it leaves the fabric. OCI's `host.rack_id` names the physical rack and stands beside
`topology.kubernetes.io/rack`. A cloud's capacity block is no rack: it can hold several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

CLIQUE = "nvidia.com/gpu.clique"
PRODUCT = "nvidia.com/gpu.product"
GPU_COUNT = "nvidia.com/gpu.count"
REPLICAS = "nvidia.com/gpu.replicas"
ACCELERATOR = "cloud.google.com/gke-accelerator"

#: Labels whose value is a rack, first found wins.
RACK_LABELS = (
    "topology.k8s.aws/ultraserver-id",
    "ds.coreweave.com/nvlink.domain",
    "topology.kubernetes.io/rack",
    "oci.oraclecloud.com/host.rack_id",
    "cloud.google.com/gce-topology-subblock",
)
#: Topograph's name for the NVLink domain, current and former; stands for a rack only where nothing better does.
TOPOGRAPH_LABELS = ("accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator")
#: Labels whose value is a block. Of layered labels the second from the node: the first is the switch of one rack, the last the whole hall.
BLOCK_LABELS = (
    "topology.k8s.aws/network-node-layer-2",
    "cloud.google.com/gce-topology-block",
    "oci.oraclecloud.com/host.network_block_id",
    "oci.oraclecloud.com/rdma.network_block_id",
    "backend.coreweave.cloud/leafgroup",
    "ib.coreweave.cloud/leafgroup",
    "fabric.topograph.run/tier-1",
    "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/block",
)
PLACE_LABELS = frozenset((*RACK_LABELS, *TOPOGRAPH_LABELS, *BLOCK_LABELS, CLIQUE))

_MACHINE_LABELS = (PRODUCT, "nvidia.com/gpu.machine", ACCELERATOR, "node.kubernetes.io/instance-type")
#: GB200, GB300, VR200 and later superchips, and the cloud machine types that have them without saying so.
_RACK_SCALE = re.compile(r"(?<![A-Z])(GB|VR)\d{3}|(?<![A-Z0-9])A4X", re.IGNORECASE)
_NVL_SIZE = re.compile(r"NVL(\d+)", re.IGNORECASE)
#: NVL4 and NVL8 join the GPUs of one node, "H100 NVL" two cards; from here on NVL joins nodes.
_SMALLEST_RACK = 16
_CLIQUE = re.compile(r"(.+)\.(\d+)", re.ASCII)
#: Characters of a label's key: prefix, slash, name.
MAX_LABEL_KEY = 253 + 1 + 63
_LABEL_KEY = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """What a node's clique label says."""

    uuid: str | None = None  # ClusterUUID of the NVLink fabric; None: no fabric
    lack: str = ""  # why there is none
    malformed: bool = False  # the label means something, but not what it should


def is_label_key(text: str) -> bool:
    """Whether Kubernetes permits the text as the key of a label."""
    return _LABEL_KEY.fullmatch(text) is not None


def fabric_of(clique: str | None) -> Fabric:
    """`<ClusterUUID>.<CliqueID>` to the fabric; an all-zero UUID is what a node reports that belongs to none."""
    if not clique:
        return Fabric(lack=f"it has no label {CLIQUE}")
    match = _CLIQUE.fullmatch(clique)
    if match is None:
        return Fabric(lack=f"its label {CLIQUE}={clique} is not <ClusterUUID>.<CliqueID>", malformed=True)
    if not match[1].strip("0-"):
        return Fabric(lack=f"its label {CLIQUE}={clique} has an all-zero ClusterUUID, which is no fabric")
    return Fabric(uuid=match[1])


def is_rack_scale(labels: Mapping[str, str]) -> bool:
    """Whether the product is one whose NVLink joins the nodes of a rack."""
    return joins_a_rack([labels[key] for key in _MACHINE_LABELS if key in labels])


def joins_a_rack(names: Iterable[str]) -> bool:
    """Whether any of these names of GPUs and machines is one whose NVLink joins the nodes of a rack."""
    names = list(names)
    sizes = [int(size[:6]) for name in names for size in _NVL_SIZE.findall(name)]
    if sizes:
        return max(sizes) >= _SMALLEST_RACK
    return any(_RACK_SCALE.search(name) for name in names)


def first_of(labels: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    """The value of the first of the labels that the node has."""
    return next((labels[key] for key in keys if labels.get(key)), None)

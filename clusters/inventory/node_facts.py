"""One Kubernetes node, read by itself: its name, labels, GPUs, condition and evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from clusters.domain.health import Flag
from clusters.inventory.conditions import evidence_of, flags_of, listed
from clusters.inventory.fields import shape
from clusters.inventory.labels import ACCELERATOR, GPU_COUNT, PRODUCT, REPLICAS, first_of, is_rack_scale
from clusters.inventory.model import Problem, fatal, note
from clusters.inventory.names import MAX_NAME, SUBDOMAIN_RULE, is_name, is_subdomain, plain

GPU_RESOURCE = "nvidia.com/gpu"
#: More than any machine has, few enough to keep a mask of them.
MAX_GPUS = 256

_COUNT = re.compile(r"\d{1,9}", re.ASCII)
_VIRTUAL = "virtual-kubelet"
_VIRTUAL_TAINT = "virtual-kubelet.io/provider"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What a node says of itself."""

    name: str
    position: str = field(compare=False)
    labels: Mapping[str, str]  # those that tell its place
    gpus: int  # 0: none, or it has lost sight of them
    product: str
    rack_scale: bool  # its product's NVLink joins the nodes of a rack
    virtual: bool  # stands for machines elsewhere
    flags: tuple[tuple[Flag, str], ...]
    evidence: tuple[str, ...]

    @property
    def answers(self) -> bool:
        """Whether what it does not say can be held against it: not while it is out of reach, or has lost sight of GPUs."""
        return not {Flag.UNREACHABLE, Flag.SUSPECT} & {flag for flag, _ in self.flags}


class NodeReader:
    """Reads items; collects what is wrong with them."""

    def __init__(self, place_labels: frozenset[str]) -> None:
        self.problems: list[Problem] = []
        self._place_labels = place_labels
        self._position = ""
        self._name = ""

    def read(self, position: str, item: object) -> NodeFacts | None:
        """The node, or None with a fatal problem told."""
        self._position, self._name = position, ""
        if not isinstance(item, dict):
            self._refuse(f"this is {shape(item)}; give a Node with metadata, spec and status")
            return None
        metadata = self._mapping(item, "metadata")
        name = metadata.get("name")
        if not isinstance(name, str) or not name:
            self._refuse(f"metadata.name is {shape(name)}; give the node's name")
            return None
        self._name = plain(name, 60)
        if not is_subdomain(name):
            size = f" with {len(name)} characters" if len(name) > MAX_NAME else ""
            self._refuse(f"metadata.name is {self._name!r}{size}; {SUBDOMAIN_RULE}")
            return None
        return self._facts(name, self._labels(metadata), self._mapping(item, "spec"), self._mapping(item, "status"))

    def _facts(self, name: str, labels: dict[str, str], spec: dict[str, object], status: dict[str, object]) -> NodeFacts:
        conditions = listed(status, "conditions")
        virtual = labels.get("type") == _VIRTUAL or any(taint.get("key") == _VIRTUAL_TAINT for taint in listed(spec, "taints"))
        gpus, doubt = (0, "") if virtual else self._gpus(labels, status)
        flags = suspected(flags_of(labels, spec, conditions), doubt)
        return NodeFacts(
            name=name,
            position=self._position,
            labels={key: value for key, value in labels.items() if key in self._place_labels},
            gpus=gpus,
            product=plain(first_of(labels, (PRODUCT, ACCELERATOR)) or ""),
            rack_scale=is_rack_scale(labels),
            virtual=virtual,
            flags=in_order(flags),
            evidence=evidence_of(conditions),
        )

    def _labels(self, metadata: dict[str, object]) -> dict[str, str]:
        labels = {}
        for key, value in self._mapping(metadata, "labels").items():
            text = str(value).lower() if isinstance(value, int) else value  # unquoted in YAML: 4, true
            if not isinstance(text, str):
                self._refuse(f"label {plain(key, 60)} is {shape(value)}; give text")
            elif key in self._place_labels and text and not is_name(text):
                self._refuse(f"label {key} is {plain(text, 60)!r}; give a value that Kubernetes permits: letters, digits, '-', '_' and '.'")
            else:
                labels[key] = text
        return labels

    def _gpus(self, labels: Mapping[str, str], status: dict[str, object]) -> tuple[int, str]:
        """How many GPUs, and what is doubtful about them. Shared GPUs are offered several times each."""
        capacity = self._count(f"status.capacity {GPU_RESOURCE}", self._mapping(status, "capacity").get(GPU_RESOURCE))
        offered = self._count(f"status.allocatable {GPU_RESOURCE}", self._mapping(status, "allocatable").get(GPU_RESOURCE))
        label = self._count(f"label {GPU_COUNT}", labels.get(GPU_COUNT))
        replicas = max(self._count(f"label {REPLICAS}", labels.get(REPLICAS)) or 1, 1)
        if capacity is None:
            return label or 0, ""
        gpus, healthy = capacity // replicas, (capacity if offered is None else offered) // replicas
        if label is not None and label != gpus:
            told = f"status.capacity has {gpus} GPUs, label {GPU_COUNT} has {label}"
            self.problems.append(note(self._position, self._name, f"{told}: {gpus or label} taken; make them agree"))
            if gpus < label:
                return gpus or label, f"status.capacity has {gpus} of its {label} GPUs"
        if healthy < gpus:
            return gpus, f"status.allocatable has {healthy} of its {gpus} GPUs"
        return gpus, ""

    def _count(self, where: str, value: object) -> int | None:
        """A number of GPUs as Kubernetes writes it: text or number."""
        if value is None or value == "":
            return None
        if not isinstance(value, bool) and _COUNT.fullmatch(str(value)) and int(str(value)) <= MAX_GPUS:
            return int(str(value))
        self._refuse(f"{where} is {plain(str(value), 60)!r}; give a whole number from 0 to {MAX_GPUS}")
        return None

    def _mapping(self, item: dict[str, object], key: str) -> dict[str, object]:
        value = item.get(key)
        if value is None or isinstance(value, dict):
            return value or {}
        self._refuse(f"{key} is {shape(value)}; give a mapping")
        return {}

    def _refuse(self, message: str) -> None:
        self.problems.append(fatal(self._position, self._name, message))


def suspected(flags: Mapping[Flag, str], doubt: str) -> dict[Flag, str]:
    """The flags with one more reason to suspect the node, if there is one."""
    if not doubt:
        return dict(flags)
    return {**flags, Flag.SUSPECT: "; ".join(text for text in (flags.get(Flag.SUSPECT), doubt) if text)}


def in_order(flags: Mapping[Flag, str]) -> tuple[tuple[Flag, str], ...]:
    """The flags with their reasons in order of precedence."""
    return tuple((flag, flags[flag]) for flag in Flag if flag in flags)

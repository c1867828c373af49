"""The formats of others in which signals may be pushed or fetched, each with its parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clusters.signals import alertmanager, kubernetes, nvsentinel, slurm
from clusters.signals.model import Parsed

#: Each takes the document as JSON gives it, and the product of the cluster's nodes or "".
FORMATS: Mapping[str, Callable[[object, str], Parsed]] = {
    "alertmanager": alertmanager.parse,
    "kubernetes": lambda document, _: kubernetes.parse(document),
    "nvsentinel": nvsentinel.parse,
    "slurm": lambda document, _: slurm.parse(document),
}

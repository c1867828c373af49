"""Where the agent reads the GPUs: NVML, through the package nvidia-ml-py where that is installed, or the report of nvidia-smi.

Both can hang where a GPU does. A command is killed then; a call into NVML cannot be, so it is made on a thread of its own, and until it
returns no other is made: signs of life go on meanwhile.
"""

from __future__ import annotations

import logging
import subprocess
import threading
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from clusters.signals import nvidia_smi
from clusters.signals.model import Parsed
from clusters.signals.nvml import Nvml
from slicekeeper_agent.options import AUTO, NOTHING, NVML, SMI, Options

logger = logging.getLogger("slicekeeper_agent")

LOOK_SECONDS = 60.0
MAX_OUTPUT = nvidia_smi.MAX_CHARACTERS
#: The module of the package nvidia-ml-py.
MODULE = "pynvml"
UNREAD = Parsed()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the GPUs said, or why they could not be asked."""

    parsed: Parsed = UNREAD
    product: str = ""
    failed: str = ""


class GpuSource(Protocol):
    """Something that the GPUs can be read by."""

    name: str

    def look(self) -> Report:
        """One report; takes up to LOOK_SECONDS."""


class Smi:
    """The command nvidia-smi, or one that prints the same."""

    def __init__(self, command: Sequence[str], node: str, gpus: int) -> None:
        self.name = command[0]
        self._command = command
        self._node = node
        self._gpus = gpus

    def look(self) -> Report:
        text, failed = output_of(self._command)
        if failed:
            return Report(failed=failed)
        return Report(parsed=nvidia_smi.parse(text, self._node, gpus=self._gpus), product=product_of(text))


class NvmlSource:
    """The library itself."""

    name = NVML

    def __init__(self, library: Any, node: str, gpus: int, seconds: float = LOOK_SECONDS) -> None:
        self._reader = Nvml(library)
        self._node = node
        self._gpus = gpus
        self._seconds = seconds
        self._thread: threading.Thread | None = None
        self._report = Report()

    def look(self) -> Report:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._read, name=NVML, daemon=True)
            self._thread.start()
            self._thread.join(self._seconds)
        return Report(failed=f"it has not answered within {self._seconds:g} s") if self._thread.is_alive() else self._report

    def _read(self) -> None:
        try:
            parsed = self._reader.read(self._node, gpus=self._gpus)
        except Exception as error:  # noqa: BLE001  (NVMLError is of a module that need not be there; a thread's error would go unheard)
            self._report = Report(failed=f"{type(error).__name__}: {error}"[:200])
        else:
            self._report = Report(parsed=parsed, product=self._reader.product)


def source_of(options: Options) -> GpuSource | None:
    """What the options choose; None where the GPUs are not to be read. Raises LookupError where NVML is asked for and not there."""
    if options.gpu_source == NOTHING or (options.gpu_source == AUTO and not options.smi):
        return None
    if options.gpu_source in (AUTO, NVML):
        library, lack = library_or_why_not()
        if library is not None and (options.gpu_source == NVML or not lack):
            return NvmlSource(library, options.node, options.gpus)
        if options.gpu_source == NVML:
            raise LookupError(lack)
        logger.info("the GPUs are read by %s: %s", SMI, lack)
    return Smi(options.smi, options.node, options.gpus)


def library_or_why_not() -> tuple[Any, str]:
    """The module, if it is there, and why it cannot be used now or ""."""
    try:
        library = import_module(MODULE)
    except ImportError:
        return None, "the package nvidia-ml-py is not installed"
    try:
        library.nvmlInit()
        library.nvmlShutdown()
    except library.NVMLError as error:
        return library, f"NVML cannot be used: {error}"
    return library, ""


def output_of(command: Sequence[str]) -> tuple[str, str]:
    """What a command prints, and why it failed or ""."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=LOOK_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        return "", f"{type(error).__name__}: {error}"[:200]
    text = done.stdout[:MAX_OUTPUT].decode("utf-8", "replace")
    if done.returncode != 0 and not text.lstrip().startswith("<?xml"):
        return text, (done.stderr.decode("utf-8", "replace").strip() or text.strip() or f"exit status {done.returncode}")[:200]
    return text, ""


def product_of(report: str) -> str:
    """The product that a report of nvidia-smi names; "" where it cannot be read."""
    at = report.find("<product_name>")
    if at < 0:
        return ""
    try:
        return (ET.fromstring(report[at : report.index("</product_name>", at) + len("</product_name>")]).text or "").strip()
    except (ET.ParseError, ValueError):
        return ""

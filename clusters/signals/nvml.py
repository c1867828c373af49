"""What NVML says of a node's GPUs, through the module `pynvml` (the package nvidia-ml-py), which is handed in: nothing here needs it.

Every call may fail by itself, since drivers and cards differ in what they know: what is not supported, or not allowed, says nothing. The
numbers are those of nvml.h; they do not change. Between two readings the library is shut down: who holds a GPU open keeps it from being
reset.

NVLink errors are counters: what counts is how much they rose between two readings. Up to NVLink 4 they are those of the data link layer,
which Blackwell no longer has; from NVLink 5 on it is links that went down, or came back.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref
from typing import Any, Final
from uuid import UUID

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.dcgm import Rule
from clusters.signals.gpus import NO_FABRIC, Fabric, GpuReading, Recovery, tell
from clusters.signals.kernel import pci_of
from clusters.signals.model import Collector, Parsed, Signal
from clusters.signals.xids import catalogue

#: Begins the codes of its signals.
READER = "nvml"

SUCCESS, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND = 0, 2, 3, 4, 13
GPU_IS_LOST, RESET_REQUIRED, VERSION_MISMATCH, DEPRECATED = 15, 16, 25, 26
_SILENT = frozenset((INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, FUNCTION_NOT_FOUND, VERSION_MISMATCH, DEPRECATED))

UNCORRECTED, VOLATILE = 1, 0  # NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC

#: Reasons of nvmlClocksEventReasons that speak against the hardware or its surroundings.
SLOWDOWNS: Final = {0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake_slowdown"}

COMPLETED = 3  # only then is there a status
FABRIC_STATES: Final = {0: "", 1: "Not Started", 2: "In Progress", COMPLETED: "Completed"}
FABRIC_SUMMARIES: Final = {0: "", 1: "Healthy", 2: "Unhealthy", 3: "Limited Capacity"}
#: (shift, mask) of the parts of the health mask.
DEGRADED_BANDWIDTH, ROUTE_UNHEALTHY, CONFIGURATION = (0, 0x3), (4, 0x3), (8, 0xF)
TRUE, FALSE = 1, 2
BANDWIDTHS: Final = {TRUE: "Degraded", FALSE: "Full"}
CONFIGURATIONS: Final = {
    0: "",
    1: "None",
    2: "incorrect system GUID",
    3: "incorrect chassis serial number",
    4: "no partition",
    5: "insufficient NVLinks",
    6: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid GPU state",
}

LINK_COUNT, RECOVERY_ACTION = 91, 230
#: Fields of each link -> what their rise says.
LINK_ERRORS: Final = {
    161: Rule("nvlink-replay", SignalKind.SOFT, SignalScope.SHARED, "NVLink retries", 100),
    162: Rule("nvlink-recovery", SignalKind.SOFT, SignalScope.SHARED, "NVLink recoveries"),
    163: Rule("nvlink-crc", SignalKind.SOFT, SignalScope.SHARED, "NVLink CRC errors", 100),
    213: Rule("nvlink-recovery", SignalKind.SOFT, SignalScope.SHARED, "NVLink recoveries"),
    214: Rule("nvlink-down", SignalKind.SOFT, SignalScope.SHARED, "times that a link went down for good"),
}
MOST_LINKS = 64

#: nvmlValueType_t -> the member of nvmlValue_t that holds the value.
_MEMBERS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
_RESET = Recovery("GPU requires restart", SignalKind.FATAL, "RESET_GPU")


class _Lost(Exception):
    """The driver has lost the GPU."""


class Nvml:
    """Reads the GPUs of this node, again and again."""

    def __init__(self, library: Any) -> None:
        self._nvml = library
        self._found = Collector()
        self._components: dict[int, str] = {}  # by index, for a GPU that can no longer say where it is
        self._counted: dict[tuple[str, int, int], int] = {}  # (component, field, link) -> the counter at the last reading
        self._reset = False  # the GPU that is being read needs one
        self.product = ""

    def read(self, node: str, *, gpus: int = 0) -> Parsed:
        """The signals of this moment; `gpus` is how many the node should have, 0 where nobody knows. Raises the library's NVMLError."""
        self._found = Collector()
        self._nvml.nvmlInit()
        try:
            readings, errors = [], []
            for index in range(self._nvml.nvmlDeviceGetCount()):
                reading, risen = self._gpu(index)
                readings.append(reading)
                errors += risen
        finally:
            self._nvml.nvmlShutdown()
        tell(self._found, READER, node, readings, gpus)
        for component, rule, text in errors:
            code = f"{READER}:{rule.code}"
            self._found.add(
                component, Signal(node=node, code=code, kind=rule.kind, scope=rule.scope, check=rule.code, component=component, text=text)
            )
        return self._found.parsed()

    def _gpu(self, index: int) -> tuple[GpuReading, list[tuple[str, Rule, str]]]:
        component = self._components.get(index, f"gpu {index}")
        self._reset = False
        try:
            handle = self._ask(component, "nvmlDeviceGetHandleByIndex", index)
            if handle is None:
                return GpuReading(component=component, recovery=_RESET if self._reset else None), []
            component = self._component(index, component, handle)
            self.product = self.product or _text(self._ask(component, "nvmlDeviceGetName", handle))
            return self._reading(component, handle), list(self._risen(component, handle))
        except _Lost:
            return GpuReading(component=component, lost=True), []

    def _component(self, index: int, known: str, handle: Any) -> str:
        pci = self._ask(known, "nvmlDeviceGetPciInfo", handle)
        if pci is not None:
            self._components[index] = f"gpu {pci_of(_text(pci.busId))}"
        return self._components.get(index, known)

    def _reading(self, component: str, handle: Any) -> GpuReading:
        remapped = self._ask(component, "nvmlDeviceGetRemappedRows", handle) or (0, 0, 0, 0)
        errors = self._ask(component, "nvmlDeviceGetTotalEccErrors", handle, UNCORRECTED, VOLATILE)
        sram = self._struct(component, handle, "nvmlDeviceGetSramEccErrorStatus", ("c_nvmlEccSramErrorStatus_v1_t",))
        reasons = self._ask(component, "nvmlDeviceGetCurrentClocksEventReasons", handle)
        if reasons is None:  # as drivers before 535 call it
            reasons = self._ask(component, "nvmlDeviceGetCurrentClocksThrottleReasons", handle) or 0
        fabric, recovery = self._fabric(component, handle), self._recovery(component, handle)
        return GpuReading(
            component=component,
            remap_failed=bool(remapped[3]),
            uncorrectable=errors or 0,
            sram_exceeded=sram is not None and bool(sram.bThresholdExceeded),
            fabric=fabric,
            recovery=_RESET if self._reset else recovery,
            slowed=tuple(name for bit, name in SLOWDOWNS.items() if reasons & bit),
        )

    def _fabric(self, component: str, handle: Any) -> Fabric:
        names = ("c_nvmlGpuFabricInfo_v3_t", "c_nvmlGpuFabricInfo_v2_t")  # the first has a summary of the health
        info = self._struct(component, handle, "nvmlDeviceGetGpuFabricInfoV", names)
        if info is None or not FABRIC_STATES.get(info.state, "unknown"):
            return NO_FABRIC
        mask, summary = info.healthMask, getattr(info, "healthSummary", 0)
        configuration = _part(mask, CONFIGURATION)
        return Fabric(
            state=FABRIC_STATES.get(info.state, f"unknown ({info.state})"),
            status="" if info.state != COMPLETED or info.status == SUCCESS else str(self._nvml.NVMLError(info.status)),
            summary=FABRIC_SUMMARIES.get(summary, f"unknown ({summary})"),
            bandwidth=BANDWIDTHS.get(_part(mask, DEGRADED_BANDWIDTH), ""),
            route_unhealthy=_part(mask, ROUTE_UNHEALTHY) == TRUE,
            configuration=CONFIGURATIONS.get(configuration, f"unknown ({configuration})"),
            clique=f"{UUID(bytes=bytes(info.clusterUuid))}.{info.cliqueId}",
        )

    def _recovery(self, component: str, handle: Any) -> Recovery | None:
        number = self._fields(component, handle, [RECOVERY_ACTION]).get((RECOVERY_ACTION, 0))
        if number is None:
            return None
        known = catalogue("xid")["recovery"].get(str(number))
        if known is None:
            return Recovery(f"unknown ({number})", SignalKind.SOFT)
        kind = SignalKind(known["kind"])
        return Recovery(known["name"], None if kind is SignalKind.INFO else kind, known.get("action", ""))

    def _risen(self, component: str, handle: Any) -> Iterator[tuple[str, Rule, str]]:
        """What the counters of all links say that have risen since the last reading."""
        links = self._fields(component, handle, [LINK_COUNT]).get((LINK_COUNT, 0), 0)
        asked = [(field, link) for field in LINK_ERRORS for link in range(min(links, MOST_LINKS))]
        now = self._fields(component, handle, asked) if asked else {}
        for field, rule in LINK_ERRORS.items():
            rises = {link: self._rise(component, field, link, value) for (asked, link), value in now.items() if asked == field}
            total, worst = sum(rises.values()), max(rises, key=lambda link: (rises[link], -link), default=0)
            if total >= rule.least:
                yield component, rule, f"{total} {rule.text}, most of them on link {worst}"

    def _rise(self, component: str, field: int, link: int, value: int) -> int:
        """How much a counter rose; one that fell was reset and counts from 0, one that is new says nothing yet."""
        before = self._counted.get((component, field, link), value)
        self._counted[component, field, link] = value
        return value - before if value >= before else value

    def _fields(self, component: str, handle: Any, asked: list[Any]) -> dict[tuple[int, int], int]:
        """The values that the driver knows, by field and link."""
        values = self._ask(component, "nvmlDeviceGetFieldValues", handle, asked)
        known = [value for value in values or () if value.nvmlReturn == SUCCESS and value.valueType in _MEMBERS]
        return {(value.fieldId, value.scopeId): int(getattr(value.value, _MEMBERS[value.valueType])) for value in known}

    def _struct(self, component: str, handle: Any, function: str, names: tuple[str, ...]) -> Any:
        """The first of the structures that both the module and the driver know, filled."""
        for name in names:
            made = getattr(self._nvml, name, None)
            if made is not None:
                info = made()
                if self._ask(component, function, handle, byref(info)) is not None:
                    return info
        return None

    def _ask(self, component: str, name: str, *arguments: Any) -> Any:
        """What a function of the library returns; None where it is not there, or does not know. Raises _Lost."""
        function = getattr(self._nvml, name, None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except self._nvml.NVMLError as error:
            if error.value == GPU_IS_LOST:
                raise _Lost from None
            self._reset = self._reset or error.value == RESET_REQUIRED
            if error.value not in (*_SILENT, RESET_REQUIRED):
                self._found.refuse(component, f"{name}: {error}")
            return None


def _part(mask: int, where: tuple[int, int]) -> int:
    shift, width = where
    return (mask >> shift) & width


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")

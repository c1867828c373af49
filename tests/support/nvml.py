"""A stand-in for the module `pynvml` of nvidia-ml-py 13: its functions, structures and errors, as far as GPUs are read by them.

Names, fields, numbers and the ways to fail are the real ones; `tests/domain/signals/test_nvml.py` holds them against the real module where
that is installed.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

ERRORS = {
    1: "Uninitialized",
    2: "Invalid Argument",
    3: "Not Supported",
    4: "Insufficient Permissions",
    9: "Driver Not Loaded",
    13: "Function Not Found",
    15: "GPU is lost",
    16: "GPU requires restart",
    23: "Insufficient Resources",
    25: "Argument Version Mismatch",
    999: "Unknown Error",
}
UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED = 1, 2, 3, 4, 9
LOST, RESET_REQUIRED, INSUFFICIENT_RESOURCES, VERSION_MISMATCH, UNKNOWN = 15, 16, 23, 25, 999

FABRIC_2: list[Any] = [
    ("version", ctypes.c_uint),
    ("clusterUuid", ctypes.c_uint8 * 16),
    ("status", ctypes.c_uint),
    ("cliqueId", ctypes.c_uint32),
    ("state", ctypes.c_ubyte),
    ("healthMask", ctypes.c_uint32),
]
SRAM: list[Any] = [
    ("version", ctypes.c_uint),
    *((name, ctypes.c_ulonglong) for name in ("aggregateUncParity", "aggregateUncSecDed", "aggregateCor")),
    *((name, ctypes.c_ulonglong) for name in ("volatileUncParity", "volatileUncSecDed", "volatileCor")),
    *((f"aggregateUncBucket{name}", ctypes.c_ulonglong) for name in ("L2", "Sm", "Pcie", "Mcu", "Other")),
    ("bThresholdExceeded", ctypes.c_uint),
]


class NVMLError(Exception):
    """What every function raises."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        return ERRORS.get(self.value, f"NVML Error with code {self.value}")


class c_nvmlGpuFabricInfo_v2_t(ctypes.Structure):
    _fields_ = FABRIC_2


class c_nvmlGpuFabricInfo_v3_t(ctypes.Structure):
    _fields_ = [*FABRIC_2, ("healthSummary", ctypes.c_uint8)]


class c_nvmlEccSramErrorStatus_v1_t(ctypes.Structure):
    _fields_ = SRAM


class nvmlPciInfo_t(ctypes.Structure):
    _fields_ = [("busId", ctypes.c_char * 32)]


class c_nvmlValue_t(ctypes.Union):
    _fields_ = [
        ("dVal", ctypes.c_double),
        ("uiVal", ctypes.c_uint),
        ("ulVal", ctypes.c_ulong),
        ("ullVal", ctypes.c_ulonglong),
        ("sllVal", ctypes.c_longlong),
        ("siVal", ctypes.c_int),
        ("usVal", ctypes.c_ushort),
    ]


class c_nvmlFieldValue_t(ctypes.Structure):
    _fields_ = [
        ("fieldId", ctypes.c_uint32),
        ("scopeId", ctypes.c_uint32),
        ("timestamp", ctypes.c_int64),
        ("latencyUsec", ctypes.c_int64),
        ("valueType", ctypes.c_uint),
        ("nvmlReturn", ctypes.c_uint),
        ("value", c_nvmlValue_t),
    ]


@dataclass(slots=True, kw_only=True)
class Gpu:
    """One GPU of GB200, all well."""

    bus_id: str = "00000008:01:00.0"
    uncorrectable: int = 0
    remap_failed: int = 0
    sram_exceeded: int = 0
    reasons: int = 1  # idle
    state: int = 3
    status: int = 0
    mask: int = 0x11AA  # of a healthy GPU: all four "false", configuration none, partition assigned
    summary: int = 1
    uuid: str = "00000001-0000-0000-0000-000000000001"
    clique: int = 32766
    fields: dict[tuple[int, int], int] = field(default_factory=lambda: {(91, 0): 18, (230, 0): 0})  # (field, scope) -> value
    fails: dict[str, int] = field(default_factory=dict)  # function -> the error that it raises


class FakeNvml:
    """The module."""

    NVMLError = NVMLError
    c_nvmlGpuFabricInfo_v2_t = c_nvmlGpuFabricInfo_v2_t
    c_nvmlGpuFabricInfo_v3_t = c_nvmlGpuFabricInfo_v3_t
    c_nvmlEccSramErrorStatus_v1_t = c_nvmlEccSramErrorStatus_v1_t

    def __init__(self, *gpus: Gpu, fabric_version: int = 3, init: int = 0) -> None:
        self.gpus = list(gpus)
        self.fabric_version = fabric_version  # the newest that the driver knows
        self.init = init  # the error of nvmlInit
        self.opened = 0

    def nvmlInit(self) -> None:
        if self.init:
            raise NVMLError(self.init)
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self._check()
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:
        self._check()
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Gpu:
        return self._gpu("nvmlDeviceGetHandleByIndex", self.gpus[index])

    def nvmlDeviceGetName(self, gpu: Gpu) -> str:
        self._gpu("nvmlDeviceGetName", gpu)
        return "NVIDIA GB200"

    def nvmlDeviceGetPciInfo(self, gpu: Gpu) -> nvmlPciInfo_t:
        return nvmlPciInfo_t(busId=self._gpu("nvmlDeviceGetPciInfo", gpu).bus_id.encode())

    def nvmlDeviceGetRemappedRows(self, gpu: Gpu) -> tuple[int, int, int, int]:
        return 0, 0, 0, self._gpu("nvmlDeviceGetRemappedRows", gpu).remap_failed

    def nvmlDeviceGetTotalEccErrors(self, gpu: Gpu, kind: int, counter: int) -> int:
        self._gpu("nvmlDeviceGetTotalEccErrors", gpu)
        return gpu.uncorrectable if (kind, counter) == (1, 0) else 77_777

    def nvmlDeviceGetSramEccErrorStatus(self, gpu: Gpu, status: Any) -> int:
        status._obj.bThresholdExceeded = self._gpu("nvmlDeviceGetSramEccErrorStatus", gpu).sram_exceeded
        return 0

    def nvmlDeviceGetCurrentClocksEventReasons(self, gpu: Gpu) -> int:
        return self._gpu("nvmlDeviceGetCurrentClocksEventReasons", gpu).reasons

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu: Gpu) -> int:
        return self._gpu("nvmlDeviceGetCurrentClocksThrottleReasons", gpu).reasons

    def nvmlDeviceGetGpuFabricInfoV(self, gpu: Gpu, pointer: Any) -> int:
        self._gpu("nvmlDeviceGetGpuFabricInfoV", gpu)
        info = pointer._obj
        if isinstance(info, c_nvmlGpuFabricInfo_v3_t):
            if self.fabric_version < 3:
                raise NVMLError(VERSION_MISMATCH)
            info.healthSummary = gpu.summary
        info.state, info.status, info.healthMask, info.cliqueId = gpu.state, gpu.status, gpu.mask, gpu.clique
        info.clusterUuid[:] = UUID(gpu.uuid).bytes
        return 0

    def nvmlDeviceGetFieldValues(self, gpu: Gpu, asked: list[Any]) -> Any:
        self._gpu("nvmlDeviceGetFieldValues", gpu)
        values = (c_nvmlFieldValue_t * len(asked))()
        for value, what in zip(values, asked, strict=True):
            value.fieldId, value.scopeId = what if isinstance(what, tuple) else (what, 0)
            known = gpu.fields.get((value.fieldId, value.scopeId))
            value.nvmlReturn = NOT_SUPPORTED if known is None else 0
            if known is not None and value.fieldId in (91, 230):
                value.valueType, value.value.uiVal = 1, known
            elif known is not None:
                value.valueType, value.value.ullVal = 3, known
        return values

    def _gpu(self, function: str, gpu: Gpu) -> Gpu:
        self._check()
        error = gpu.fails.get(function, gpu.fails.get("*", 0))
        if error:
            raise NVMLError(error)
        return gpu

    def _check(self) -> None:
        if not self.opened:
            raise NVMLError(UNINITIALIZED)

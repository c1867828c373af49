"""What NVML says of GPUs, by a stand-in of its module: the same as nvidia-smi, and the errors of the links."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import nvidia_smi, nvml
from clusters.signals.model import Signal
from clusters.signals.nvml import Nvml
from slicekeeper_agent import gpus
from slicekeeper_agent.gpus import NvmlSource, Smi, source_of
from slicekeeper_agent.options import parse_options
from tests.support import nvml as stand_in
from tests.support.nvml import DRIVER_NOT_LOADED, LOST, NO_PERMISSION, NOT_SUPPORTED, RESET_REQUIRED, UNKNOWN, FakeNvml, Gpu

FATAL, SOFT, DEGRADED = SignalKind.FATAL, SignalKind.SOFT, SignalKind.DEGRADED


def bad(*read: Gpu, expected: int = 0, fabric_version: int = 3) -> list[Signal]:
    """What speaks against the node, of one reading."""
    fake = FakeNvml(*read, fabric_version=fabric_version)
    parsed = Nvml(fake).read("n1", gpus=expected)
    assert parsed.problems == ()
    assert fake.opened == 0, "who holds a GPU open keeps it from being reset"
    return [signal for signal in parsed.signals if signal.kind is not SignalKind.RECOVERED]


def health(shift: int, value: int, width: int = 0x3) -> int:
    """The mask of a healthy GPU, but for one part."""
    return (Gpu().mask & ~(width << shift)) | value << shift


def test_a_healthy_tray_takes_back_every_check_and_says_nothing_against_itself() -> None:
    parsed = Nvml(FakeNvml(Gpu(), Gpu(bus_id="00000009:06:00.0"))).read("n1", gpus=2)
    assert {signal.kind for signal in parsed.signals} == {SignalKind.RECOVERED}
    assert {signal.component for signal in parsed.signals} == {"", "gpu 0008:01:00", "gpu 0009:06:00"}
    assert {signal.check for signal in parsed.signals} == {
        "gpu count", "gpu lost", "row remap", "memory errors", "fabric", "fabric bandwidth", "recovery action", "slowdown",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("gpu", "check", "kind", "told"),
    [
        (Gpu(remap_failed=1), "row remap", FATAL, "rows of memory could not be remapped"),
        (Gpu(uncorrectable=3), "memory errors", SOFT, "3 uncorrectable memory errors since the driver started"),
        (Gpu(sram_exceeded=1, uncorrectable=3), "memory errors", FATAL, "the limit of SRAM errors is exceeded"),
        (Gpu(state=2, status=UNKNOWN), "fabric", SOFT, "fabric: state is In Progress"),
        (Gpu(state=9), "fabric", SOFT, "fabric: state is unknown (9)"),
        (Gpu(status=stand_in.INSUFFICIENT_RESOURCES), "fabric", SOFT, "fabric: status is Insufficient Resources"),
        (Gpu(summary=2), "fabric", SOFT, "fabric: summary is Unhealthy"),
        (Gpu(mask=health(4, 1)), "fabric", SOFT, "fabric: a route is unhealthy"),
        (Gpu(mask=health(8, 5, 0xF)), "fabric", SOFT, "fabric: configuration: insufficient NVLinks"),
        (Gpu(mask=health(0, 1)), "fabric bandwidth", DEGRADED, "NVLink bandwidth is Degraded"),
        (Gpu(summary=3, mask=health(0, 0)), "fabric bandwidth", DEGRADED, "NVLink bandwidth is limited"),
        (Gpu(reasons=0xC1), "slowdown", SOFT, "slowed down: hw_power_brake_slowdown, hw_thermal_slowdown"),
        (Gpu(fields={(230, 0): 1}), "recovery action", FATAL, "recovery action: GPU Reset Required"),
        (Gpu(fields={(230, 0): 3}), "recovery action", SOFT, "recovery action: Drain P2P"),
        (Gpu(fields={(230, 0): 5}), "recovery action", SOFT, "recovery action: Recover IMEX Domain"),
        (Gpu(fields={(230, 0): 7}), "recovery action", FATAL, "recovery action: System Reboot"),
        (Gpu(fields={(230, 0): 99}), "recovery action", SOFT, "recovery action: unknown (99)"),
        (Gpu(fails={"nvmlDeviceGetRemappedRows": RESET_REQUIRED}), "recovery action", FATAL, "recovery action: GPU requires restart"),
        (Gpu(fails={"*": LOST}), "gpu lost", FATAL, "the driver has lost the GPU"),
    ],
)
def test_what_is_wrong_is_told(gpu: Gpu, check: str, kind: SignalKind, told: str) -> None:
    (found,) = bad(gpu)
    assert (found.check, found.kind, found.text) == (check, kind, told)
    assert found.scope is (SignalScope.SHARED if check.startswith("fabric") else SignalScope.NODE)
    assert found.lasting
    assert found.code == f"nvml:{check.replace(' ', '-')}"


def test_the_fabric_says_which_clique_it_is() -> None:
    (found,) = bad(Gpu(summary=2))
    assert found.evidence == ("clique 00000001-0000-0000-0000-000000000001.32766",)


def test_a_driver_that_knows_less_says_less() -> None:
    assert bad(Gpu(summary=2), fabric_version=2) == [], "the second version has no summary"
    assert [found.check for found in bad(Gpu(mask=health(4, 1)), fabric_version=2)] == ["fabric"]
    assert bad(Gpu(state=0, status=3)) == []
    assert bad(Gpu(fails=dict.fromkeys(("nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetFieldValues"), NOT_SUPPORTED))) == []
    assert bad(Gpu(fails={"nvmlDeviceGetHandleByIndex": NO_PERMISSION})) == [], "it is there, if for others"
    old = Gpu(fails={"nvmlDeviceGetCurrentClocksEventReasons": 13}, reasons=0x40)
    assert [found.text for found in bad(old)] == ["slowed down: hw_thermal_slowdown"]


def test_a_module_that_knows_less_says_less() -> None:
    fake = FakeNvml(Gpu())
    older = SimpleNamespace(**{name: getattr(fake, name) for name in ("NVMLError", "nvmlInit", "nvmlShutdown", "nvmlDeviceGetCount")})
    older.nvmlDeviceGetHandleByIndex = fake.nvmlDeviceGetHandleByIndex
    assert {signal.kind for signal in Nvml(older).read("n1").signals} == {SignalKind.RECOVERED}


def test_what_goes_wrong_otherwise_is_a_problem_and_the_rest_is_told() -> None:
    parsed = Nvml(FakeNvml(Gpu(fails={"nvmlDeviceGetRemappedRows": UNKNOWN}, uncorrectable=1))).read("n1")
    assert [(problem.position, problem.message) for problem in parsed.problems] == [
        ("gpu 0008:01:00", "nvmlDeviceGetRemappedRows: Unknown Error")
    ]
    assert [signal.check for signal in parsed.signals if signal.kind is SOFT] == ["memory errors"]


def test_gpus_that_are_not_there_are_lost_and_one_that_was_keeps_its_name() -> None:
    assert [(found.check, found.text) for found in bad(Gpu(), expected=4)] == [("gpu count", "1 of 4 GPUs are there")]
    fake = FakeNvml(Gpu())
    reader = Nvml(fake)
    reader.read("n1")
    fake.gpus[0].fails = {"nvmlDeviceGetHandleByIndex": LOST}
    (lost,) = [signal for signal in reader.read("n1").signals if signal.kind is FATAL]
    assert (lost.check, lost.component) == ("gpu lost", "gpu 0008:01:00")


def test_a_reading_is_shut_down_although_it_fails() -> None:
    fake = FakeNvml(Gpu())
    fake.nvmlDeviceGetCount = lambda: 1 // 0  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        Nvml(fake).read("n1")
    assert fake.opened == 0


# ---- links


def test_errors_of_links_count_by_what_they_rose() -> None:
    gpu = Gpu(fields={(91, 0): 18, (230, 0): 0, (214, 3): 7, (214, 4): 1, (213, 4): 2})
    fake = FakeNvml(gpu)
    reader = Nvml(fake)

    def said() -> list[tuple[str, str]]:
        return [(signal.code, signal.text) for signal in reader.read("n1").signals if signal.kind is SOFT]

    assert said() == [], "counted before anybody looked"
    gpu.fields[214, 4] = 3
    gpu.fields[214, 3] = 8
    assert said() == [("nvml:nvlink-down", "3 times that a link went down for good, most of them on link 4")]
    assert said() == []
    gpu.fields[213, 4] = 1  # reset, and counted again
    assert said() == [("nvml:nvlink-recovery", "1 NVLink recoveries, most of them on link 4")]


def test_errors_of_links_happen_once_and_can_have_a_shared_cause() -> None:
    gpu = Gpu(fields={(91, 0): 12, (163, 0): 0, (161, 0): 0})
    reader = Nvml(FakeNvml(gpu))
    reader.read("n1")
    gpu.fields |= {(163, 0): 99, (161, 0): 100}
    (found,) = [signal for signal in reader.read("n1").signals if signal.kind is SOFT]
    assert (found.code, found.scope, found.lasting) == ("nvml:nvlink-replay", SignalScope.SHARED, False)


# ---- the same as nvidia-smi


def test_both_readers_make_the_same_signals_of_the_same_gpu() -> None:
    report = """<nvidia_smi_log><gpu id="00000008:01:00.0">
        <remapped_rows><remapped_row_failure>Yes</remapped_row_failure></remapped_rows>
        <ecc_errors><volatile><dram_uncorrectable>2</dram_uncorrectable></volatile></ecc_errors>
        <fabric><state>Completed</state><status>Success</status><cliqueId>32766</cliqueId>
          <clusterUuid>00000001-0000-0000-0000-000000000001</clusterUuid>
          <health><summary>Unhealthy</summary><bandwidth>Degraded</bandwidth><route_unhealthy>True</route_unhealthy>
            <incorrect_configuration>None</incorrect_configuration></health></fabric>
        <clocks_event_reasons><clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown></clocks_event_reasons>
        <gpu_recovery_action>None</gpu_recovery_action></gpu></nvidia_smi_log>"""
    gpu = Gpu(remap_failed=1, uncorrectable=2, summary=2, mask=health(4, 1) & ~0x3 | 1, reasons=0x40)
    mine, theirs = Nvml(FakeNvml(gpu)).read("n1").signals, nvidia_smi.parse(report, "n1").signals

    def plain(signals: tuple[Signal, ...]) -> list[tuple[Any, ...]]:
        return [(s.check, s.component, s.kind, s.scope, s.text, s.action, s.evidence, s.lasting) for s in signals]

    assert plain(mine) == plain(theirs)


# ---- as the agent chooses


@contextmanager
def module(monkeypatch: pytest.MonkeyPatch, library: Any) -> Iterator[None]:
    def find(name: str) -> Any:
        assert name == "pynvml"
        if library is None:
            raise ImportError(name)
        return library

    with monkeypatch.context() as patch:
        patch.setattr(gpus, "import_module", find)
        yield


def chosen(*arguments: str) -> Any:
    return source_of(parse_options(["--url", "http://h", "--cluster", "lab", "--node", "n1", *arguments]))


def test_the_source_is_nvml_where_it_is_there_and_nvidia_smi_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICEKEEPER_TOKEN", "sk_x")
    away = FakeNvml(init=DRIVER_NOT_LOADED)
    with module(monkeypatch, FakeNvml(Gpu())):
        assert isinstance(chosen(), NvmlSource)
        assert isinstance(chosen("--gpu-source", "nvidia-smi"), Smi)
        assert chosen("--gpu-source", "none") is None
        assert chosen("--nvidia-smi", "none") is None
    for library in (away, None):
        with module(monkeypatch, library):
            assert isinstance(chosen(), Smi)
    with module(monkeypatch, away):
        report = chosen("--gpu-source", "nvml").look()
        assert report.failed == "NVMLError: Driver Not Loaded"
    with module(monkeypatch, None), pytest.raises(LookupError, match="nvidia-ml-py is not installed"):
        chosen("--gpu-source", "nvml")
    with pytest.raises(SystemExit):
        chosen("--gpu-source", "nvidia-smi", "--nvidia-smi", "none")


def test_a_library_that_hangs_is_a_failure_and_is_not_called_again_meanwhile() -> None:
    fake, go_on, calls = FakeNvml(Gpu()), threading.Event(), []

    def hang() -> int:
        calls.append(1)
        go_on.wait(20)
        return 1

    fake.nvmlDeviceGetCount = hang  # type: ignore[method-assign]
    source = NvmlSource(fake, "n1", 0, seconds=0.05)
    assert [source.look().failed for _ in range(2)] == ["it has not answered within 0.05 s"] * 2
    assert len(calls) == 1
    go_on.set()
    assert source._thread is not None
    source._thread.join(20)
    source = NvmlSource(FakeNvml(Gpu()), "n1", 0)
    report = source.look()
    assert (report.failed, report.product) == ("", "NVIDIA GB200")
    assert report.parsed.signals


# ---- against the real module


def test_numbers_and_structures_are_those_of_the_real_module() -> None:
    real: Any = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    numbers = {
        "NVML_ERROR_INVALID_ARGUMENT": nvml.INVALID_ARGUMENT,
        "NVML_ERROR_NOT_SUPPORTED": nvml.NOT_SUPPORTED,
        "NVML_ERROR_NO_PERMISSION": nvml.NO_PERMISSION,
        "NVML_ERROR_FUNCTION_NOT_FOUND": nvml.FUNCTION_NOT_FOUND,
        "NVML_ERROR_GPU_IS_LOST": nvml.GPU_IS_LOST,
        "NVML_ERROR_RESET_REQUIRED": nvml.RESET_REQUIRED,
        "NVML_ERROR_ARGUMENT_VERSION_MISMATCH": nvml.VERSION_MISMATCH,
        "NVML_ERROR_DEPRECATED": nvml.DEPRECATED,
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": nvml.UNCORRECTED,
        "NVML_VOLATILE_ECC": nvml.VOLATILE,
        "NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW": nvml.DEGRADED_BANDWIDTH[0],
        "NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY": nvml.ROUTE_UNHEALTHY[0],
        "NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION": nvml.CONFIGURATION[0],
        "NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION": nvml.CONFIGURATION[1],
        "NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_TRUE": nvml.TRUE,
        "NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_FALSE": nvml.FALSE,
        "NVML_FI_DEV_NVLINK_LINK_COUNT": nvml.LINK_COUNT,
        "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION": nvml.RECOVERY_ACTION,
        "NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT": 7,
    }
    assert {name: getattr(real, name) for name in numbers} == numbers
    fields = (
        "ERROR_DL_REPLAY",
        "ERROR_DL_RECOVERY",
        "ERROR_DL_CRC",
        "COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS",
        "COUNT_LINK_RECOVERY_FAILED_EVENTS",
    )
    assert [getattr(real, f"NVML_FI_DEV_NVLINK_{name}") for name in fields] == list(nvml.LINK_ERRORS)
    slow = (real.nvmlClocksEventReasonHwThermalSlowdown, real.nvmlClocksEventReasonHwPowerBrakeSlowdown)
    assert slow == tuple(nvml.SLOWDOWNS)
    states = [
        real.NVML_GPU_FABRIC_STATE_NOT_SUPPORTED,
        *(getattr(real, f"NVML_GPU_FABRIC_STATE_{name}") for name in ("NOT_STARTED", "IN_PROGRESS", "COMPLETED")),
    ]
    assert states == list(nvml.FABRIC_STATES)
    for name in ("c_nvmlGpuFabricInfo_v2_t", "c_nvmlGpuFabricInfo_v3_t", "c_nvmlEccSramErrorStatus_v1_t", "c_nvmlFieldValue_t"):
        mine, theirs = getattr(stand_in, name), getattr(real, name)
        assert ctypes.sizeof(mine) == ctypes.sizeof(theirs), name
        assert [(field[0], getattr(mine, field[0]).offset) for field in mine._fields_] == [
            (field[0], getattr(theirs, field[0]).offset) for field in theirs._fields_
        ], name
    assert {name for name in dir(FakeNvml) if name.startswith("nvml")} <= set(dir(real))

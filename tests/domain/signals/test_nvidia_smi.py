"""What nvidia-smi -q -x prints, of GB200 and GB300 trays."""

from __future__ import annotations

import pytest

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import nvidia_smi
from clusters.signals.model import Signal
from tests.support.shared import shared_path


def report(name: str) -> str:
    return shared_path("data", "formats", "nvidia-smi", f"qx-{name}.xml").read_text(encoding="utf-8")


def bad(text: str, gpus: int = 0) -> list[Signal]:
    parsed = nvidia_smi.parse(text, "n1", gpus=gpus)
    assert parsed.problems == ()
    assert parsed.signals
    return [signal for signal in parsed.signals if signal.kind is not SignalKind.RECOVERED]


def fabric(state: str, status: str, health: str = "", clique: int = 1) -> str:
    """A report of one GPU with this fabric."""
    uuid = "00000000-0000-0000-0000-000000000000"
    inside = f"<state>{state}</state><status>{status}</status><cliqueId>{clique}</cliqueId><clusterUuid>{uuid}</clusterUuid>"
    return f'<nvidia_smi_log><gpu id="0008:01:00.0"><fabric>{inside}<health>{health}</health></fabric></gpu></nvidia_smi_log>'


@pytest.mark.parametrize("name", ["gb200-healthy", "gb300-hardware", "gb200-throttle-counters"])
def test_a_healthy_tray_says_nothing_against_itself(name: str) -> None:
    assert bad(report(name)) == []


def test_memory_that_could_not_be_remapped_is_fatal_and_errors_are_a_doubt() -> None:
    found = {signal.check: signal.kind for signal in bad(report("gb200-ecc-injected"))}
    assert found == {"row remap": SignalKind.FATAL, "memory errors": SignalKind.SOFT}


def test_a_lost_gpu_is_fatal_and_its_other_values_are_of_before() -> None:
    lost = [signal for signal in bad(report("gb200-lost")) if signal.check == "gpu lost"]
    assert [(signal.kind, signal.scope, signal.component) for signal in lost] == [(SignalKind.FATAL, SignalScope.NODE, "gpu 0000:0b:00")]
    assert not [signal for signal in nvidia_smi.parse(report("gb200-lost"), "n1").signals if signal.component == lost[0].component][1:]


def test_a_degraded_fabric_shows() -> None:
    (found,) = bad(report("gb200-fabric-degraded"))
    assert found.scope is SignalScope.SHARED
    assert found.kind in (SignalKind.SOFT, SignalKind.DEGRADED)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (fabric("Completed", "Success", "<summary>Healthy</summary><bandwidth>Full</bandwidth>"), None),
        (fabric("Completed", "Success", "<summary>Unhealthy</summary><bandwidth>Full</bandwidth>"), SignalKind.SOFT),
        (fabric("Completed", "Insufficient Resources", clique=0), SignalKind.SOFT),
        (fabric("In Progress", "N/A"), SignalKind.SOFT),
        (fabric("Completed", "Success", "<summary>Limited Capacity</summary><bandwidth>Degraded</bandwidth>"), SignalKind.DEGRADED),
        (fabric("Not Supported", "Success", clique=0), None),
        (fabric("Completed", "Success", "<summary>Not Supported</summary>"), None),
    ],
)
def test_completed_and_success_is_not_all_there_is_to_a_fabric(text: str, kind: SignalKind | None) -> None:
    assert [signal.kind for signal in bad(text)] == ([kind] if kind else [])


def test_gpus_that_are_not_there_are_lost() -> None:
    (missing,) = bad(report("gb200-healthy"), gpus=4)
    assert (missing.check, missing.kind, missing.text) == ("gpu count", SignalKind.FATAL, "2 of 4 GPUs are there")


@pytest.mark.parametrize(
    ("action", "kind"), [("None", None), ("N/A", None), ("Reset", SignalKind.FATAL), ("Reboot", SignalKind.FATAL), ("New", SignalKind.SOFT)]
)
def test_the_recovery_action_is_followed(action: str, kind: SignalKind | None) -> None:
    text = f'<nvidia_smi_log><gpu id="0008:01:00.0"><gpu_recovery_action>{action}</gpu_recovery_action></gpu></nvidia_smi_log>'
    assert [signal.kind for signal in bad(text)] == ([kind] if kind else [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html/>",
        "<nvidia_smi_log>",
        '<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>',
        "Failed to initialize NVML",
        "x" * (nvidia_smi.MAX_CHARACTERS + 1),
    ],
)
def test_what_is_no_report_is_told(text: str) -> None:
    parsed = nvidia_smi.parse(text, "n1")
    assert parsed.signals == ()
    assert len(parsed.problems) == 1

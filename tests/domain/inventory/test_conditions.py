"""The condition of a Kubernetes node comes from labels, taints and Ready; other conditions are evidence."""

from __future__ import annotations

import pytest

from clusters.domain.health import Flag
from tests.domain.inventory.files import Item, read_nodes, tray

UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
GPU_PRESENT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
FATAL = {"key": "nvidia.com/gpu-error", "value": "fatal", "effect": "NoSchedule"}
XID = {"key": "nvidia.com/gpu-xid-error", "value": "true", "effect": "NoSchedule"}
SOFT = {"key": "nvidia.com/gpu-error", "value": "warn", "effect": "PreferNoSchedule"}


def sentinel(state: str, **more: object) -> Item:
    return tray("n1", 1, {"dgxc.nvidia.com/nvsentinel-state": state}, **more)


@pytest.mark.parametrize(
    ("item", "flags"),
    [
        (tray("n1", 1), {}),
        (tray("n1", 1, taints=[GPU_PRESENT]), {}),
        (tray("n1", 1, taints=[{"key": "dedicated", "value": "team-a", "effect": "NoSchedule"}]), {}),
        (tray("n1", 1, ready="False"), {Flag.SUSPECT: "Ready is False: KubeletSaysSo"}),
        (tray("n1", 1, ready="Unknown"), {Flag.UNREACHABLE: "Ready is Unknown: KubeletSaysSo"}),
        (tray("n1", 1, ready=None), {Flag.UNREACHABLE: "no condition Ready"}),
        (tray("n1", 1, cordoned=True), {Flag.DRAINING: "cordoned"}),
        (tray("n1", 1, taints=[UNSCHEDULABLE]), {Flag.DRAINING: "cordoned"}),
        (sentinel("quarantined", cordoned=True), {Flag.QUARANTINED: "label dgxc.nvidia.com/nvsentinel-state=quarantined"}),
        (sentinel("draining", cordoned=True, taints=[UNSCHEDULABLE]), {Flag.DRAINING: "label dgxc.nvidia.com/nvsentinel-state=draining"}),
        (sentinel("remediating"), {Flag.QUARANTINED: "label dgxc.nvidia.com/nvsentinel-state=remediating"}),
        (sentinel("somebody-elses-word"), {}),
        (tray("n1", 1, taints=[FATAL], cordoned=True), {Flag.QUARANTINED: "taint nvidia.com/gpu-error=fatal"}),
        (tray("n1", 1, taints=[XID]), {Flag.QUARANTINED: "taint nvidia.com/gpu-xid-error=true"}),
        (tray("n1", 1, taints=[SOFT]), {}),
        (
            sentinel("draining", taints=[FATAL]),
            {Flag.QUARANTINED: "label dgxc.nvidia.com/nvsentinel-state=draining; taint nvidia.com/gpu-error=fatal"},
        ),
        (
            tray("n1", 1, taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]),
            {Flag.SUSPECT: "taint node.kubernetes.io/unreachable"},
        ),
        (
            tray("n1", 1, ready="Unknown", taints=[{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}], cordoned=True),
            {
                Flag.UNREACHABLE: "Ready is Unknown: KubeletSaysSo",
                Flag.FAILED: "taint node.kubernetes.io/out-of-service",
                Flag.DRAINING: "cordoned",
            },
        ),
    ],
)
def test_flags_follow_labels_taints_and_ready(item: Item, flags: dict[Flag, str]) -> None:
    (found,) = read_nodes([item]).nodes
    assert dict(found.flags) == flags


def test_abnormal_conditions_are_kept_as_told_and_decide_nothing() -> None:
    item = tray("n1", 1)
    item["status"]["conditions"] += [  # type: ignore[index]
        {"type": "SysLogsXIDError", "status": "True", "reason": "IsNotHealthy", "message": "Xid 149\x00 on GPU 2\nsecond line"},
        {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
        {"type": "NetworkingReady", "status": "True"},
        {"type": "AcceleratedHardwareReady", "status": "False", "message": "GPU 1 is hot"},
        {"type": "DiskPressure", "status": "Unknown"},
        "not a condition",
    ]
    (found,) = read_nodes([item]).nodes
    assert found.flags == ()
    assert found.evidence == (
        "AcceleratedHardwareReady=False GPU 1 is hot",
        "DiskPressure=Unknown",
        "SysLogsXIDError=True IsNotHealthy: Xid 149  on GPU 2 second line",
    )

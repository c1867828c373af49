"""Kernel log lines, as dmesg, journalctl, syslog and /dev/kmsg print them."""

from __future__ import annotations

import re

import pytest

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import kernel
from clusters.signals.model import Signal
from tests.support.shared import shared_path

OFF_BUS = "NVRM: Xid (PCI:0000:b3:00.0): 79, pid=12345, GPU has fallen off the bus."


def only(line: str, boot: str = "") -> Signal:
    parsed = kernel.parse([line], "n1", boot=boot)
    assert parsed.problems == ()
    (signal,) = parsed.signals
    return signal


def test_every_line_of_the_collection_is_a_signal_and_no_other_line_is() -> None:
    lines = shared_path("data", "failures", "kernel_log_lines_xid_sxid.txt").read_text(encoding="utf-8").splitlines()
    parsed = kernel.parse(lines, "n1", product="NVIDIA GB200")
    said = [line for line in lines if re.search(r"Xid \(|fallen off the bus", line)]
    assert parsed.problems == ()
    assert len(parsed.signals) == len(said) > 100
    assert {(signal.check, signal.code.partition(":")[0]) for signal in parsed.signals} == {("kernel", "xid"), ("switch", "sxid")}


def test_the_dump_beside_an_xid_says_nothing_more() -> None:
    lines = shared_path("data", "failures", "dmesg_gsp_timeout_xid119.log").read_text(encoding="utf-8").splitlines()
    parsed = kernel.parse(lines, "n1")
    assert {(signal.code, signal.kind, signal.component) for signal in parsed.signals} == {("xid:119", SignalKind.FATAL, "gpu 0000:9b:00")}
    assert all(signal.occurred_at is None for signal in parsed.signals), "dmesg's own times have no zone"


def test_the_end_of_a_gpu_is_told_in_two_ways() -> None:
    for line in (OFF_BUS, "NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.", "NVRM: GPU b3:00.0: GPU has fallen off the bus."):
        signal = only(line)
        assert (signal.code, signal.kind, signal.scope, signal.component) == (
            "xid:79",
            SignalKind.FATAL,
            SignalScope.NODE,
            "gpu 0000:b3:00",
        )


def test_xid_43_is_no_xid_79() -> None:
    assert only("NVRM: Xid (PCI:0000:01:00): 43, pid=7, name=train, Ch 00000010").kind is SignalKind.INFO


def test_a_switch_is_of_the_fabric() -> None:
    signal = only("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")
    assert (signal.code, signal.component, signal.kind, signal.scope) == (
        "sxid:20034",
        "switch 3",
        SignalKind.FATAL,
        SignalScope.SHARED,
    )


def test_positions_of_kmsg_make_an_id_within_a_boot() -> None:
    line = f"4,1234,98765432,-;{OFF_BUS}"
    assert only(line, boot="b1").id == "b1/1234"
    assert only(line, boot="b2").id == "b2/1234"
    assert only(line).id == ""


def test_times_of_kmsg_count_from_the_boot() -> None:
    line = f"4,1234,98765432,-;{OFF_BUS}"
    (signal,) = kernel.parse([line], "n1", booted_at=1_000_000_000).signals
    assert signal.occurred_at == 1_098_765_432
    assert only(line).occurred_at is None


@pytest.mark.parametrize("stamp", ["2026-11-20T07:58:12+0000", "2026-11-20T08:58:12.000000+01:00", "2026-11-20T07:58:12Z"])
def test_a_time_counts_where_its_zone_is_told(stamp: str) -> None:
    line = f"{stamp} rack-a01-ct07 kernel: {OFF_BUS}"
    (signal,) = kernel.parse([line]).signals
    assert (signal.node, signal.occurred_at) == ("rack-a01-ct07", 1_795_161_492_000_000)
    assert signal.id == kernel.parse([line]).signals[0].id != ""


def test_a_line_that_names_no_host_is_a_problem_where_nobody_says_whose_it_is() -> None:
    parsed = kernel.parse([OFF_BUS])
    assert parsed.signals == ()
    assert parsed.problems[0].position == "line 1"


def test_an_xid_that_is_cut_off_before_its_number_is_told() -> None:
    assert kernel.parse(["NVRM: Xid (PCI:0000:b3"], "n1").problems[0].position == "line 1"


def test_one_gpu_has_one_name_however_its_address_is_written() -> None:
    told = ("00000008:01:00.0", "0008:01:00", "8:01:00.0", "0008:01:00.0")
    assert {kernel.pci_of(address) for address in told} == {"0008:01:00"}
    assert kernel.pci_of("GPU-b200") == "GPU-b200"

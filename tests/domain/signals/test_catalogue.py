"""The catalogue of Xids, SXids and DCGM's errors, and the decode table of NVLink 5."""

from __future__ import annotations

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals.xids import Meaning, architecture_of, catalogue, dcgm_meaning, is_guess, sxid_meaning, xid_meaning
from tests.support.shared import shared_path

FATAL, SOFT, INFO, DEGRADED = SignalKind.FATAL, SignalKind.SOFT, SignalKind.INFO, SignalKind.DEGRADED
NODE, SHARED = SignalScope.NODE, SignalScope.SHARED
GB200 = "NVIDIA GB200"


@pytest.mark.parametrize(
    ("code", "product", "kind", "scope", "action"),
    [
        (79, GB200, FATAL, NODE, "RESTART_BM"),
        (43, GB200, INFO, NODE, "IGNORE"),  # "GPU stopped processing": the application's fault, not the bus
        (63, GB200, INFO, NODE, "IGNORE"),  # for the record only
        (64, GB200, FATAL, NODE, "RESET_GPU"),
        (48, "", FATAL, NODE, "WORKFLOW_XID_48"),
        (31, "NVIDIA H100 80GB HBM3", INFO, NODE, "RESTART_APP"),
        (74, "NVIDIA H100 80GB HBM3", FATAL, SHARED, "WORKFLOW_NVLINK_ERR"),
        (74, GB200, SOFT, SHARED, "WORKFLOW_NVLINK_ERR"),  # not in use there
        (136, "NVIDIA A100-SXM4-80GB", SOFT, SHARED, "RESET_GPU"),  # nor this here
        (149, GB200, SOFT, SHARED, "WORKFLOW_NVLINK5_ERR"),  # what it says is in the kernel's line
        (157, GB200, DEGRADED, NODE, "IGNORE"),
        (27, GB200, SOFT, NODE, ""),
        (999, GB200, SOFT, NODE, ""),
    ],
)
def test_an_xid_means_what_the_catalogue_says(code: int, product: str, kind: SignalKind, scope: SignalScope, action: str) -> None:
    meaning = xid_meaning(code, "", product)
    assert (meaning.kind, meaning.scope, meaning.action) == (kind, scope, action)


def test_codes_that_are_unknown_or_not_in_use_are_told() -> None:
    assert "unknown" in xid_meaning(999).name
    assert "not in use" in xid_meaning(27).name
    assert "not in use on gb200" in xid_meaning(74, "", GB200).name


@pytest.mark.parametrize(
    ("meaning", "worded"),
    [
        (xid_meaning(999), "unknown code, taken as soft: said"),
        (xid_meaning(27), "unknown code, taken as soft: said"),
        (xid_meaning(79), "said"),
        (xid_meaning(74, "", GB200), "said"),
        (sxid_meaning(1), "unknown code, taken as soft: said"),
        (sxid_meaning(1, "Fatal, Link 0"), "said"),
        (dcgm_meaning("DCGM_FR_NEW"), "unknown code, taken as soft: said"),
    ],
)
def test_a_kind_that_is_a_guess_is_said_to_be_one(meaning: Meaning, worded: str) -> None:
    assert meaning.worded("said") == worded
    assert is_guess(meaning.kind, meaning.worded("")) == (not meaning.known)


@pytest.mark.parametrize(
    ("message", "kind", "action"),
    [
        ("GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", FATAL, "RESET_GPU"),
        ("GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)", FATAL, "DRAIN_AND_RESET"),
        ("GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", INFO, ""),
        ("GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", FATAL, "RESTART_BM"),
        ("(", SOFT, ""),
        ("GPU recovery action changed from 0x0 (None) to 0x77 (New)", SOFT, ""),
    ],
)
def test_xid_154_carries_the_action_itself(message: str, kind: SignalKind, action: str) -> None:
    meaning = xid_meaning(154, message, GB200)
    assert (meaning.kind, meaning.action) == (kind, action)


@pytest.mark.parametrize(
    ("code", "message", "kind", "scope", "action"),
    [
        (149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x0 0x0 0x0 0x0)", FATAL, SHARED, "RESET_GPU"),
        (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x0 0x0 0x0 0x0)", FATAL, SHARED, "RESET_GPU"),
        (149, "NETIR_LINK_EVT/NETIR_LINK_DOWN Fatal XC0 i0 Link 00 (0x02500011 0x00000000 0x0)", FATAL, SHARED, "RESET_GPU"),
        (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x026001c6 0x00000000 0x0 0x0 0x0 0x0)", SOFT, SHARED, "IGNORE"),
        (149, "NETIR_BER_EVENT Nonfatal XC0 i0 Link 01 (0x00082226 0x00000001 0x0 0x0 0x0 0x0)", SOFT, NODE, "IGNORE"),
        (149, "NETIR_MFDE_EVENT Nonfatal XC0 i0 Link 00 (0x00000014 0x00000003 0x0 0x0)", INFO, NODE, "IGNORE"),
        (150, "MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000 0x0 0x0)", FATAL, NODE, "RESET_GPU"),
        (144, "SAW_MVB Fatal XC0 i0 Link 00 (0x00000001 0x00000012 0x0 0x0)", FATAL, SHARED, "RESET_GPU"),  # two bits of the status
        (145, "pid=9, name=ray::W, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 0x00000008", INFO, NODE, "XID_154_EVAL"),
        (145, "RLW_REMAP Nonfatal XC1 i0 Link 10 ", SOFT, SHARED, ""),  # cut off
        (145, "RLW_NEW Fatal XC1 i0 Link 10 (0x0 0x0)", FATAL, SHARED, ""),  # unknown: as bad as it says
        (149, "Placeholder message", SOFT, SHARED, "WORKFLOW_NVLINK5_ERR"),
    ],
)
def test_xids_144_to_150_are_decided_by_the_decode_table(
    code: int, message: str, kind: SignalKind, scope: SignalScope, action: str
) -> None:
    meaning = xid_meaning(code, message, GB200)
    assert (meaning.kind, meaning.scope, meaning.action) == (kind, scope, action)


def test_the_decode_table_agrees_with_every_row_of_the_vendors() -> None:
    table = shared_path("data", "failures", "xid_144_150_nvlink5_decode.csv")
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        for pattern in (row["intrinfo_v1_lt_r575"], row["intrinfo_v2_ge_r575"]):
            info = int(re.sub("[^01]", "0", pattern), 2)
            status = (row["error_status_hex"] or "0x0").split("/")[0]
            unit = row["subcode"].replace("MSE Degraded", "MSE_WATCHDOG")
            severity = "Nonfatal" if row["severity"].startswith("Non") else "Fatal"
            message = f"{unit} {severity} XC0 i0 Link 01 (0x{info:08x} {status} 0x0 0x0)"
            assert xid_meaning(int(row["xid"]), message).action == row["recovery_action"], message


def test_every_xid_of_the_vendors_table_has_its_action() -> None:
    table = shared_path("data", "failures", "xid_catalog.csv")
    tables = catalogue("xid")
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        known = tables["xid"].get(row["xid"])
        if known is None:
            assert int(row["xid"]) in tables["unused"]
            continue
        assert known.get("action", "") == row["immediate_action"]
        users = [name for name in ("a100", "h100", "b100", "gb200") if row[name] == "YES"]
        assert known.get("on", ["a100", "h100", "b100", "gb200"]) == users


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (20034, "Fatal, Link 30 LTSSM Fault Up", FATAL),
        (20034, "Data {0x50610002, 0x10100030}", SOFT),
        (12028, "Non-fatal, Link 32 egress non-posted PRIV error (First)", INFO),
        (22003, "Non-fatal", FATAL),
        (20123, "Unknown error", SOFT),
    ],
)
def test_an_sxid_is_of_the_fabric(code: int, message: str, kind: SignalKind) -> None:
    meaning = sxid_meaning(code, message)
    assert (meaning.kind, meaning.scope) == (kind, SHARED)


def test_errors_of_dcgm() -> None:
    assert dcgm_meaning("DCGM_FR_FALLEN_OFF_BUS")[:2] == (FATAL, NODE)
    assert dcgm_meaning("DCGM_FR_NVSWITCH_DOWN")[:2] == (FATAL, SHARED)
    assert dcgm_meaning("DCGM_FR_CLOCK_THROTTLE_THERMAL")[:2] == (SOFT, NODE)
    assert dcgm_meaning("DCGM_FR_OF_TOMORROW")[:2] == (SOFT, NODE)


@pytest.mark.parametrize(
    ("product", "architecture"),
    [
        ("NVIDIA GB200", "gb200"),
        ("NVIDIA GB300", "gb200"),
        ("NVIDIA B200", "b100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA GH200 480GB", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("Tesla T4", ""),
        ("", ""),
    ],
)
def test_products_tell_their_architecture(product: str, architecture: str) -> None:
    assert architecture_of(product) == architecture


@given(st.integers(0, 10**9), st.text(max_size=120), st.sampled_from(["", GB200, "x"]))
def test_every_code_and_message_means_something(code: int, message: str, product: str) -> None:
    for meaning in (xid_meaning(code, message, product), sxid_meaning(code, message)):
        assert meaning.name

"""The DCGM exporter, scraped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.signals import SignalKind, SignalScope
from clusters.signals import dcgm
from clusters.signals.model import Signal
from tests.support.shared import shared_path

LABELS = 'gpu="0",UUID="GPU-1",modelName="NVIDIA GB200",Hostname="n1"'


def line(metric: str, value: float | str, labels: str = LABELS) -> str:
    return f"{metric}{{{labels}}} {value}\n"


def scrape(*values: float | None, metric: str = "DCGM_FI_DEV_XID_ERRORS") -> list[list[tuple[str, SignalKind]]]:
    """What a series of scrapes of one metric says, each against the one before; None: the metric is absent."""
    said = []
    previous: dcgm.Scrape = {}
    for value in values:
        text = line("DCGM_FI_DEV_GPU_TEMP", 40) + (line(metric, value) if value is not None else "")
        now, parsed = dcgm.read(text)
        assert parsed.problems == ()
        said.append([(signal.code, signal.kind) for signal in dcgm.signals(previous, now).signals])
        previous = now
    return said


def test_an_xid_counts_when_it_changes_and_not_while_it_is_latched() -> None:
    """Absent or 0 at first, then the last code for good."""
    bus, doubt = [("xid:79", SignalKind.FATAL)], [("xid:149", SignalKind.SOFT)]
    assert scrape(None, None, 79, 79, 149, 149, 79) == [[], [], bus, [], doubt, [], bus]
    assert scrape(0, 0, 79) == [[], [], bus]


def test_a_code_that_was_latched_before_the_first_look_is_a_doubt_only() -> None:
    assert scrape(79, 79) == [[("xid:79", SignalKind.SOFT)], []]
    assert scrape(63) == [[("xid:63", SignalKind.INFO)]]


def test_a_node_that_was_away_is_compared_with_what_it_said_before() -> None:
    """A scrape that lacks the node for a while must not make a latched code new."""
    latched = dcgm.read(line("DCGM_FI_DEV_XID_ERRORS", 79))[0]
    other = dcgm.read(line("DCGM_FI_DEV_XID_ERRORS", 0, LABELS.replace("n1", "n2")))[0]
    without = dcgm.kept(latched, other)
    assert dcgm.signals(without, latched).signals == ()
    assert [signal.kind for signal in dcgm.signals(other, latched).signals] == [SignalKind.SOFT], "never seen before: how old is it?"
    assert dcgm.kept(without, latched) == {**other, **latched}


def test_a_counter_says_how_much_it_rose_also_after_a_reset() -> None:
    soft = [("dcgm:nvlink-recovery", SignalKind.SOFT)]
    rises = scrape(5, 5, 6, 0, 1, 0, metric="DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL")
    assert rises == [[], [], soft, [], soft, []]
    assert scrape(0, 1, 1, metric="DCGM_FI_DEV_ROW_REMAP_FAILURE")[1] == [("dcgm:row-remap-failure", SignalKind.FATAL)]
    assert scrape(0, 99, 199, metric="DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL") == [[], [], [("dcgm:nvlink-crc", SignalKind.SOFT)]]


def test_the_counter_of_xids_tells_repeats_too() -> None:
    def counted(count: int) -> dcgm.Scrape:
        return dcgm.read(line("DCGM_EXP_XID_ERRORS_COUNT", count, f'{LABELS},xid="79"'))[0]

    assert [signal.code for signal in dcgm.signals(counted(1), counted(2)).signals] == ["xid:79"]
    assert dcgm.signals(counted(2), counted(2)).signals == ()


def test_a_gpu_that_leaves_the_scrape_is_missed_until_it_is_back() -> None:
    both = line("DCGM_FI_DEV_GPU_TEMP", 40) + line("DCGM_FI_DEV_GPU_TEMP", 41, LABELS.replace("GPU-1", "GPU-2"))
    two, one = dcgm.read(both)[0], dcgm.read(line("DCGM_FI_DEV_GPU_TEMP", 40))[0]
    (gone,) = dcgm.signals(two, one).signals
    assert (gone.kind, gone.component, gone.lasting) == (SignalKind.SOFT, "gpu GPU-2", True)
    (back,) = dcgm.signals(one, two).signals
    assert (back.kind, back.component) == (SignalKind.RECOVERED, "gpu GPU-2")
    assert dcgm.signals(two, {}).signals == (), "an exporter that is away says nothing of its GPUs"


def test_real_scrapes_are_read() -> None:
    for name, node, gpus in (("gb200_p6e_idle_real_values", "gb200-node-1", 4), ("h100_8gpu_real_evidence", "gpu-node-1", 8)):
        text = shared_path("data", "formats", "dcgm-exporter", f"{name}.prom").read_text(encoding="utf-8")
        now, parsed = dcgm.read(text)
        assert parsed.problems == ()
        assert {key.split("|")[0] for key in now} == {node}
        assert len({key.split("|")[1] for key in now}) == gpus
        assert dcgm.signals(now, now).signals == ()


def test_the_tray_with_a_link_fault() -> None:
    text = shared_path("data", "formats", "dcgm-exporter", "gb200_tray_xid149_constructed.prom").read_text(encoding="utf-8")
    now, _ = dcgm.read(text)
    before: dcgm.Scrape = {key: 0.0 for key in now if not isinstance(now[key], str)}
    found: list[Signal] = list(dcgm.signals(before, now).signals)
    assert {signal.component for signal in found} == {"gpu GPU-00000002-0000-0000-0000-000000000002"}
    assert {signal.code for signal in found} == {"xid:149", "dcgm:nvlink-recovery"}
    assert {signal.scope for signal in found} == {SignalScope.SHARED}


@pytest.mark.parametrize("text", ["", "hello", "# HELP x\n", "node_load1 3\n"])
def test_what_is_no_scrape_is_told(text: str) -> None:
    assert dcgm.read(text)[1].problems


def test_a_line_that_cannot_be_read_is_told_with_its_number() -> None:
    text = line("DCGM_FI_DEV_GPU_TEMP", 40) + line("DCGM_FI_DEV_XID_ERRORS", "many") + "DCGM_FI_DEV_XID_ERRORS{gpu} 3\n"
    assert [problem.position for problem in dcgm.read(text)[1].problems] == ["line 2", "line 3"]


@given(st.lists(st.sampled_from([0, 43, 63, 79, 149]), max_size=8))
def test_each_change_of_the_latch_is_told_once(values: list[int]) -> None:
    changes = sum(now not in (before, 0) for before, now in zip([0, *values], values, strict=False))
    assert sum(map(len, scrape(*values))) == changes

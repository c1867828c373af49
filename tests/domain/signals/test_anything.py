"""Whatever comes, every parser ends in signals or in clear problems, and everything it takes can be stored."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clusters.inventory.names import is_name
from clusters.signals import alertmanager, dcgm, kernel, kubernetes, nvidia_smi, nvsentinel, slurm
from clusters.signals.model import MAX_CODE, MAX_TEXT, Parsed, instant_of
from tests.support.shared import shared_path

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
DOCUMENTS: dict[str, Callable[[Any], Parsed]] = {
    "alertmanager": alertmanager.parse,
    "nvsentinel": nvsentinel.parse,
    "kubernetes": kubernetes.parse,
    "slurm": slurm.parse,
}
SAMPLES = {
    "alertmanager": ("alertmanager", "webhook_v4_firing_constructed.json"),
    "nvsentinel": ("nvsentinel", "health_events_constructed.json"),
    "kubernetes": ("k8s-nodes", "gb200_nodes_2racks_constructed.json"),
    "slurm": ("slurm", "slurmrestd-0.0.44-slurm-nodes.json"),
}
FUZZ = settings(max_examples=60, suppress_health_check=list(HealthCheck))


def sound(parsed: Parsed) -> None:
    for signal in parsed.signals:
        assert is_name(signal.node)
        assert signal.code
        assert len(signal.code) <= MAX_CODE
        for text in (signal.code, signal.check, signal.component, signal.text, signal.action, signal.id, *signal.evidence):
            assert len(text) <= MAX_TEXT
            assert "\n" not in text
            text.encode()
    for problem in parsed.problems:
        assert problem.message
        problem.message.encode()


@pytest.mark.parametrize("name", DOCUMENTS)
@FUZZ
@given(document=ANYTHING)
@example(document=None)
@example(document=[[[[[[[[[[]]]]]]]]]])
@example(document={"alerts": [None], "nodes": [None], "events": [None], "items": [None]})
def test_any_document(name: str, document: Any) -> None:
    parsed = DOCUMENTS[name](document)
    sound(parsed)


@pytest.mark.parametrize("name", DOCUMENTS)
@FUZZ
@given(data=st.data())
def test_a_real_document_with_anything_in_one_place(name: str, data: st.DataObject) -> None:
    document = copy.deepcopy(small(name))
    where: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(where) if isinstance(where, dict) else range(len(where))))
        inner = where[key]
        if not isinstance(inner, dict | list) or not inner or (data.draw(st.booleans()) and data.draw(st.booleans())):
            where[key] = put = data.draw(ANYTHING)
            break
        where = inner
    parsed = DOCUMENTS[name](document)
    sound(parsed)
    assert parsed.signals or parsed.problems or put == [], "an empty list says nothing"


_small: dict[str, Any] = {}


def small(name: str) -> Any:
    """The sample, with a few entries of each list."""
    if name not in _small:
        path: Path = shared_path("data", "formats", *SAMPLES[name])
        document = json.loads(path.read_text(encoding="utf-8"))
        for key, value in document.items():
            if isinstance(value, list):
                document[key] = value[5:8] if len(value) > 9 else value[:2]
        _small[name] = document
    return _small[name]


LINES = st.sampled_from(
    [
        "NVRM: Xid (PCI:0000:b3:00.0): 79, pid=1",
        "NVRM: Xid (PCI:0000:04:00): 144, SAW_MVB Fatal XC0 i0 Link 00 (0x00000001 0x00000002 0x0",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal",
        "NVRM: Xid (",
        "4,12,34,-;NVRM: Xid (PCI:::): 99999, ",
    ]
)


@FUZZ
@given(st.lists(LINES | st.text(max_size=60), max_size=5), st.text(max_size=10), st.text(max_size=10))
def test_any_kernel_log(lines: list[str], cut: str, node: str) -> None:
    for line in lines:
        sound(kernel.parse([line + cut, cut + line, line[: len(cut)]], node, boot="b"))


@FUZZ
@given(st.text(max_size=300) | st.sampled_from(["<nvidia_smi_log><gpu/></nvidia_smi_log>"]))
def test_any_report(text: str) -> None:
    parsed = nvidia_smi.parse(text, "n1")
    sound(parsed)
    assert parsed.signals or parsed.problems


@FUZZ
@given(st.data())
def test_a_real_report_with_anything_in_one_place(data: st.DataObject) -> None:
    report = shared_path("data", "formats", "nvidia-smi", "qx-gb200-lost.xml").read_text(encoding="utf-8")
    at = data.draw(st.integers(0, len(report)))
    parsed = nvidia_smi.parse(report[:at] + data.draw(st.text(max_size=20)) + report[at + data.draw(st.integers(0, 40)) :], "n1")
    sound(parsed)
    assert parsed.signals or parsed.problems


@FUZZ
@given(st.text(max_size=80), st.text(max_size=20), st.text(max_size=12))
def test_any_scrape(labels: str, value: str, text: str) -> None:
    lines = f'DCGM_FI_DEV_XID_ERRORS{{{labels}}} {value}\nDCGM_FI_DEV_XID_ERRORS{{Hostname="n1",{labels}}} 79\n{text}'
    now, parsed = dcgm.read(lines)
    sound(parsed)
    sound(dcgm.signals({}, now))
    sound(dcgm.signals(now, now))


@FUZZ
@given(st.text(max_size=100))
def test_any_lines_of_sinfo(text: str) -> None:
    sound(slurm.parse(text))


@pytest.mark.parametrize(
    ("told", "instant"),
    [
        ("2026-11-20T07:58:12.123Z", 1_795_161_492_123_000),
        ("2026-11-20T07:58:12.123456789Z", 1_795_161_492_123_456),
        ("2026-11-20T08:58:12+01:00", 1_795_161_492_000_000),
        ("0001-01-01T00:00:00Z", None),  # Go's "never"
        ("0001-01-01T00:00:00+14:00", None),
        ("2026-11-20T07:58:12", None),  # of which zone?
        ("yesterday", None),
        (1_795_161_492, 1_795_161_492_000_000),
        (True, None),
        (10**30, None),
        (None, None),
    ],
)
def test_times(told: object, instant: int | None) -> None:
    assert instant_of(told) == instant

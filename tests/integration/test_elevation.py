"""The elevation of a rack: trays where they are, everything named, nothing that a strict content policy blocks."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from frontend.pages.elevation import Elevation, Rack, Slot, fitted, trays_above

SVG = "{http://www.w3.org/2000/svg}"


def rack(count: int = 18, switches: int = 9, changes: dict[int, Slot] | None = None) -> Rack:
    """A rack of healthy idle trays, but for those of `changes`, by number from 1."""
    slots = [Slot(node=f"r1-n{i}", condition="healthy", use="idle") for i in range(1, count + 1)]
    for number, slot in (changes or {}).items():
        slots[number - 1] = slot
    return Rack(name="r1", slots=tuple(slots), switch_trays=switches)


def drawn(subject: Rack) -> ET.Element:
    return ET.fromstring(Elevation(subject).render())


def trays(root: ET.Element, name: str) -> list[float]:
    """The tops of the trays of a class, from top to bottom."""
    groups = [group for group in root.iter(f"{SVG}g") if name in group.get("class", "").split()]
    rects = [group.find(f"{SVG}rect") for group in groups]
    return [float(rect.get("y", "nan")) for rect in rects if rect is not None]


def titles(root: ET.Element) -> list[str]:
    return [title.text or "" for title in root.iter(f"{SVG}title")]


def working(node: str = "r1-n3") -> Slot:
    return Slot(node=node, condition="degraded", use="allocated", job="j000123", label="pretrain", url="/jobs/j000123/", slot=4)


def test_an_nvl72_has_ten_trays_above_nine_switch_trays_and_eight_below() -> None:
    root = drawn(rack())
    compute, switches = trays(root, "elevation-slot"), trays(root, "elevation-switch")
    assert (len(compute), len(switches)) == (18, 9)
    assert compute == sorted(compute)
    assert sum(top < switches[0] for top in compute) == 10
    assert sum(top > switches[-1] for top in compute) == 8


@pytest.mark.parametrize(
    ("count", "switches", "above"),
    [(18, 9, 10), (9, 9, 5), (1, 0, 1), (72, 9, 40), (8, 0, 8), (0, 9, 0), (1, 9, 1)],
)
def test_switch_trays_come_after_the_same_share_of_any_rack(count: int, switches: int, above: int) -> None:
    assert trays_above(count, switches) == above
    root = drawn(rack(count, switches))
    assert len(trays(root, "elevation-slot")) == count
    assert len(trays(root, "elevation-switch")) == switches


@pytest.mark.parametrize(("count", "switches"), [(18, 9), (9, 9), (1, 0), (72, 18), (0, 0)])
def test_no_two_trays_overlap_and_all_are_inside_the_frame(count: int, switches: int) -> None:
    root = drawn(rack(count, switches))
    spans = []
    for group in root.iter(f"{SVG}g"):
        if {"elevation-slot", "elevation-switch"} & set(group.get("class", "").split()):
            rect = group.find(f"{SVG}rect")
            assert rect is not None
            top = float(rect.get("y", "nan"))
            spans.append((top, top + float(rect.get("height", "nan"))))
    spans.sort()
    assert all(below[0] >= above[1] for above, below in pairwise(spans))
    assert all(top >= 0 and bottom <= float(root.get("height", "nan")) for top, bottom in spans)


def test_a_tray_with_work_is_a_link_to_its_job_and_says_all_about_it() -> None:
    root = drawn(rack(changes={3: working()}))
    (link,) = list(root.iter(f"{SVG}a"))
    assert link.get("href") == "/jobs/j000123/"
    assert "r1-n3, Allocated, Degraded, j000123, slot 4" in titles(link)


def test_a_tray_without_work_is_no_link() -> None:
    assert not list(drawn(rack()).iter(f"{SVG}a"))


def test_use_and_condition_are_told_by_class_and_shape() -> None:
    text = Elevation(rack(changes={3: working()})).render()
    assert text.count('class="use-allocated"') == 1
    assert text.count('class="condition-degraded"') == 1
    assert "condition-healthy" not in text


def test_a_job_is_named_once_per_run_of_trays_and_again_below_the_switches() -> None:
    runs = {i: working(f"r1-n{i}") for i in (1, 2, 9, 10, 11, 12)}
    root = drawn(rack(changes=runs))
    named = [text for text in root.iter(f"{SVG}text") if text.text == "pretrain"]
    assert len(named) == 3


def test_domains_are_marked_where_a_rack_holds_more_than_one() -> None:
    halves = tuple(Slot(node=f"n{i}", condition="healthy", use="idle", domain="left" if i < 9 else "right") for i in range(18))
    root = drawn(Rack(name="r1", slots=halves, switch_trays=9))
    assert [text for text in titles(root) if text.startswith("Domain")] == ["Domain left", "Domain right"]


def test_the_only_domain_of_a_rack_needs_no_mark() -> None:
    assert not [text for text in titles(drawn(rack())) if text.startswith("Domain")]


def test_a_failed_switch_tray_is_drawn_and_named_as_failed() -> None:
    subject = Rack(name="r1", slots=rack().slots, switch_trays=9, failed_switches=frozenset({4}))
    root = drawn(subject)
    assert "Switch tray 4, failed" in titles(root)
    assert sum("is-failed" in group.get("class", "") for group in root.iter(f"{SVG}g")) == 1


def test_names_cannot_break_out_of_the_drawing() -> None:
    odd = Slot(node='<b>"n&1', condition="healthy", use="allocated", job="j<1>", url='/jobs/"><script>/')
    text = Elevation(Rack(name="<r>&", slots=(odd,), switch_trays=0)).render()
    assert "<b>" not in text
    assert "<script>" not in text
    assert ET.fromstring(text).find(f"{SVG}title") is not None


def test_the_drawing_passes_a_strict_content_policy() -> None:
    text = Elevation(rack(changes={3: working()})).render()
    assert not re.search(r"\sstyle=|<style|<script|\son[a-z]+=|url\(", text)


def test_a_state_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="use 'busy' has no look"):
        Elevation(rack(changes={1: Slot(node="a", condition="healthy", use="busy")})).render()


def test_long_names_are_cut_to_their_room() -> None:
    assert fitted("short", 100) == "short"
    assert fitted("x" * 40, 66) == "x" * 9 + "…"

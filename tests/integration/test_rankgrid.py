"""The drawing of a slice's ranks."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from clusters.domain.constraints import ParallelPlan
from frontend.pages.rankgrid import RankGrid, span
from scheduling.domain.parallelism.ranks import PlacedSlice, PlacedSlot, Rank, rank_map
from tests.domain.parallelism.placed import whole

SVG = "{http://www.w3.org/2000/svg}"


def drawn(part: PlacedSlice, plan: ParallelPlan | None) -> ElementTree.Element:
    ranks = rank_map([part], plan).ranks
    return ElementTree.fromstring(RankGrid(ranks, plan.group if plan else None).render())


def classes(svg: ElementTree.Element, kind: str) -> list[str]:
    return [rect.attrib["class"].removeprefix(f"{kind} ") for rect in svg.iter(f"{SVG}rect") if rect.attrib["class"].startswith(kind)]


def test_each_gpu_is_drawn_in_the_colour_of_its_group() -> None:
    svg = drawn(whole("r1", 4), ParallelPlan(tp=8, dp=2))
    assert classes(svg, "rank-gpu") == ["hue-0"] * 8 + ["hue-1"] * 8
    assert classes(svg, "rank-group") == ["hue-0", "hue-1"]


def test_groups_inside_a_node_have_colours_and_no_box() -> None:
    svg = drawn(whole("r1", 1), ParallelPlan(tp=2, dp=2))
    assert classes(svg, "rank-gpu") == ["hue-0", "hue-0", "hue-1", "hue-1"]
    assert classes(svg, "rank-group") == []


def test_without_a_plan_there_are_no_groups() -> None:
    svg = drawn(whole("r1", 2, gpus=8), None)
    assert classes(svg, "rank-gpu") == ["use-allocated"] * 16
    assert classes(svg, "rank-group") == []


def test_each_node_says_its_slot_and_ranks() -> None:
    titles = [title.text for title in drawn(whole("r1", 4), ParallelPlan(tp=8, dp=2)).iter(f"{SVG}title")]
    assert titles[3] == "r1-n4, slot 3, ranks 12–15, tp 4–7, ep 0, pp 0, dp 1"


def test_a_lost_slot_is_a_gap_that_keeps_its_ranks() -> None:
    part = PlacedSlice(domain="r1", slots=(PlacedSlot(node="<a&b>", gpus=(0, 1)), PlacedSlot(node=None, gpus=(0, 1))))
    svg = drawn(part, None)
    assert len(classes(svg, "rank-gpu")) == 2
    assert [title.text for title in svg.iter(f"{SVG}title")] == ["<a&b>, slot 0, ranks 0–1", "no node, slot 1, ranks 2–3"]
    assert [group.attrib["class"] for group in svg.iter(f"{SVG}g")] == ["rank-node", "rank-node is-lost"]


def test_everything_lies_inside_the_drawing_and_nothing_overlaps() -> None:
    svg = drawn(whole("r1", 18, gpus=8), ParallelPlan(tp=8, dp=18))
    width, height = (float(svg.attrib[side]) for side in ("width", "height"))
    gpus = [rect.attrib for rect in svg.iter(f"{SVG}rect") if rect.attrib["class"].startswith("rank-gpu")]
    assert len({(gpu["x"], gpu["y"]) for gpu in gpus}) == 144
    for rect in svg.iter(f"{SVG}rect"):
        x, y, wide, tall = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + wide <= width
        assert y >= 0
        assert y + tall <= height
    assert not re.search(r'style="', ElementTree.tostring(svg, encoding="unicode"))


def test_ranges_are_told_shortly() -> None:
    assert (span([3]), span([3, 4, 7]), span([1, 2], "s")) == (" 3", " 3–7", "s 1–2")


def test_ranks_of_one_slot_stay_together() -> None:
    ranks: tuple[Rank, ...] = rank_map([whole("r1", 3)], None).ranks
    assert [tile.node for tile in RankGrid(ranks, None).tiles] == ["r1-n1", "r1-n2", "r1-n3"]

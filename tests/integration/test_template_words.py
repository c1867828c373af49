"""The template words for states, spans, sizes and counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from frontend.templatetags import states
from tests.support.shared import ROOT

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (None, ""),
        (0, "0 s"),
        (-5, "0 s"),
        (999_999, "0 s"),
        (45 * SECOND, "45 s"),
        (130 * SECOND, "2 min 10 s"),
        (3600 * SECOND, "1 h"),
        (3605 * SECOND, "1 h"),
        ((3 * 86_400 + 4 * 3600 + 59) * SECOND, "3 d 4 h"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(microseconds: int | None, text: str) -> None:
    assert states.duration(microseconds) == text


@pytest.mark.parametrize(
    ("sizes", "text"),
    [([], ""), ([4], "4"), ([16, 16], "16 + 16"), ([16] * 8, "8 × 16"), ([16, 8], "16 + 8"), ([16] * 20 + [15] * 12, "20 × 16 + 12 × 15")],
)
def test_slice_sizes_are_folded(sizes: list[int], text: str) -> None:
    assert states.sizes(sizes) == text


def test_instants_are_utc() -> None:
    at = 1_772_000_000 * SECOND
    assert states.instant(at) == "2026-02-25 06:13:20"
    assert states.moment(at) == "02-25 06:13"
    assert states.iso(at) == "2026-02-25T06:13:20Z"
    assert states.instant(None) == ""


def test_a_moment_carries_its_whole_instant_and_zone() -> None:
    html = states.when(1_772_000_000 * SECOND, "end")
    assert html == '<time class="end" datetime="2026-02-25T06:13:20Z" title="2026-02-25 06:13:20 UTC">02-25 06:13</time>'


def test_a_sentence_goes_on_in_another() -> None:
    assert states.lower_first("Takes all work.") == "takes all work"
    assert states.lower_first("") == ""


def test_a_state_is_told_by_shape_label_and_meaning() -> None:
    html = states.state("condition", "failed")
    assert 'href="#condition-failed"' in html
    assert "Failed" in html
    assert "A fatal verdict" in html


def test_the_sprite_holds_the_shape_of_every_state() -> None:
    html = states.state_symbols()
    assert html.count("<symbol") == 9 + 10 + 11 + 4
    assert 'id="job-cancelled"' in html


def test_counts_are_grouped() -> None:
    assert states.grouped(18000) == "18,000"
    assert states.grouped(None) == ""


def test_kinds_of_jobs_are_words() -> None:
    assert [states.kind_word(kind) for kind in ("training", "rl")] == ["training", "RL"]


TEMPLATES = sorted((Path(states.__file__).parents[1] / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_table_has_a_name(path: Path) -> None:
    for table in re.findall(r"<table[^>]*>\s*(?:<caption)?", path.read_text(encoding="utf-8")):
        assert table.endswith("<caption") or "aria-label" in table, table


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_whole_instants_are_told_with_their_zone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    told = [text[match.end() :][:4] for match in re.finditer(r"\|instant \}\}", text)]
    column = "Cluster time, UTC" in text  # the head of a column says it for all its rows
    assert all(after == " UTC" or column for after in told)


GUIDES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", *TEMPLATES]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_commands_are_typed_in_one_way(path: Path) -> None:
    """As `make install` leaves them; a command that is only named is `manage.py NAME`."""
    assert not re.findall(r"(?<!\.venv/bin/)python[0-9.]* manage\.py", path.read_text(encoding="utf-8"))

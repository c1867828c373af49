"""The palette covers the enumerations, is legible in both themes, and tells nothing by colour alone."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest

from frontend.pages import palette
from frontend.pages.palette import STATES, Kind, State, palette_css, palette_json, shape_path, state_of

CONDITIONS = "absent unknown failed in_repair quarantined draining suspect degraded healthy".split()
USES = "external stopping allocated lent shared reserved out spare stranded idle".split()
RACKS = "open no_new_long_jobs draining out".split()
JOBS = "submitted held waiting placed starting running stalled stopping finished failed cancelled".split()

STYLES = Path(palette.__file__).parents[1] / "static" / "frontend" / "css"

EACH = [pytest.param(kind, state, id=f"{kind}-{state.value}") for kind, states in STATES.items() for state in states]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def tokens() -> dict[str, tuple[str, str]]:
    """The colours of the style sheet by name, light and dark."""
    text = (STYLES / "base.css").read_text()
    found = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", text)
    return {name: (light, dark) for name, light, dark in found}


@pytest.mark.parametrize(("kind", "values"), [("condition", CONDITIONS), ("use", USES), ("job", JOBS), ("rack", RACKS)], ids=list(STATES))
def test_a_kind_has_each_of_its_values_once_and_in_the_order_of_their_codes(kind: Kind, values: list[str]) -> None:
    assert [state.value for state in STATES[kind]] == values


@pytest.mark.parametrize(("kind", "state"), EACH)
def test_a_state_stands_out_from_the_rack_it_is_drawn_on(kind: Kind, state: State) -> None:
    assert contrast(state.light, palette.RACK_LIGHT) >= 3
    assert contrast(state.dark, palette.RACK_DARK) >= 3


@pytest.mark.parametrize("hue", palette.JOB_HUES)
def test_a_job_hue_stands_out_from_the_rack_it_is_drawn_on(hue: tuple[str, str]) -> None:
    assert contrast(hue[0], palette.RACK_LIGHT) >= 3
    assert contrast(hue[1], palette.RACK_DARK) >= 3


@pytest.mark.parametrize("kind", list(STATES))
def test_no_two_states_of_a_kind_share_their_shape_or_their_label(kind: Kind) -> None:
    for one, other in combinations(STATES[kind], 2):
        assert (one.ground, one.mark) != (other.ground, other.mark), (one.value, other.value)
        assert one.label != other.label
        assert one.glyph != other.glyph, (one.value, other.value)


@pytest.mark.parametrize(("kind", "state"), EACH)
def test_a_state_is_explained_in_one_sentence(kind: Kind, state: State) -> None:
    assert state.meaning.endswith(".")
    assert ". " not in state.meaning
    assert state.meaning[0].isupper()


def test_every_condition_but_healthy_carries_a_mark() -> None:
    assert [state.value for state in palette.CONDITIONS if not state.mark] == ["healthy"]


def test_free_nodes_are_outlines_and_used_nodes_are_ink() -> None:
    free = {state.value for state in palette.USES if state.ground in {"half", "hollow", "faint"}}
    assert free == {"reserved", "out", "spare", "stranded", "idle"}


@pytest.mark.parametrize("name", ["text", "muted", "link", "danger", "good", "warn"])
@pytest.mark.parametrize("ground", ["bg", "panel", "raised", "sunken"])
def test_text_is_legible_on_every_ground_in_both_themes(name: str, ground: str) -> None:
    colours = tokens()
    for theme in (0, 1):
        assert contrast(colours[name][theme], colours[ground][theme]) >= 4.5


def test_buttons_and_borders_of_fields_are_legible() -> None:
    colours = tokens()
    for theme in (0, 1):
        assert contrast(colours["ink"][theme], colours["on-ink"][theme]) >= 4.5
        assert contrast(colours["danger-fill"][theme], "#ffffff") >= 4.5
        assert contrast(colours["line-strong"][theme], colours["raised"][theme]) >= 3
        assert contrast(colours["focus"][theme], colours["bg"][theme]) >= 3


def test_the_style_sheet_is_the_one_the_palette_prints() -> None:
    written = (STYLES / "palette.css").read_text()
    assert written == palette_css(), "print it anew: python -m frontend.pages.palette > css/palette.css"


def test_the_browser_gets_every_state_in_the_order_of_the_codes() -> None:
    data = json.loads(palette_json())
    assert [state["value"] for state in data["condition"]] == CONDITIONS
    assert [state["value"] for state in data["use"]] == USES
    assert [state["value"] for state in data["job"]] == JOBS
    assert data["use"][2] == {
        "value": "allocated",
        "label": "Allocated",
        "meaning": "Whole node in use by one job.",
        "light": "#3f72cf",
        "dark": "#6594ea",
        "glyph": "■",
        "ground": "solid",
        "mark": "",
    }


def test_an_unknown_state_is_refused_with_what_would_be_right() -> None:
    with pytest.raises(ValueError, match="condition 'broken' has no look; a condition is one of: absent, unknown"):
        state_of("condition", "broken")


def test_a_mark_is_part_of_the_shape() -> None:
    failed = state_of("condition", "failed")
    assert shape_path(failed) == palette.GROUND_PATHS["solid"] + failed.mark

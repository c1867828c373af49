"""The one place that says what each state is called, means and looks like.

A state has a value (the word of the log and the API), a label, a meaning in one sentence, one colour for
light and one for dark ground, a glyph for plain text, and a shape: a *ground* that fills the cell and a
*mark* on it. The shapes differ wherever the colours do, so that nothing is told by colour alone: ink is
work, an outline is a free node, and a condition that is not healthy always carries its mark.

Python, templates (`frontend.templatetags.states`), the style sheet (`css/palette.css`, printed by
`python -m frontend.pages.palette`) and the browser (`palette_data`) all read these tuples. Conditions and
uses stand in the order of their codes, which is their order of precedence in the books.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

Kind = Literal["condition", "use", "job", "rack"]
Ground = Literal["solid", "split", "hatch", "half", "hollow", "faint", "dashed"]

#: What cells are drawn on, by theme: the ground of a rack on the map. Cells keep 3:1 against it.
RACK_LIGHT = "#eef1f5"
RACK_DARK = "#1b2028"

#: Side of the box that every ground and mark is drawn in.
BOX = 16

_NONE = ""
_DOT = "M8 4.75a3.25 3.25 0 1 0 0 6.5a3.25 3.25 0 1 0 0-6.5z"
_RING = "M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9zM8 6a2 2 0 1 1 0 4a2 2 0 1 1 0-4z"
_SLASH = "M3 10.5L10.5 3H13v2.5L5.5 13H3z"
_CROSS = "M3.5 5.5l2-2L8 6l2.5-2.5 2 2L10 8l2.5 2.5-2 2L8 10l-2.5 2.5-2-2L6 8z"
_PLUS = "M6.5 3h3v3.5H13v3H9.5V13h-3V9.5H3v-3h3.5z"
_DIAMOND = "M8 2.8L13.2 8 8 13.2 2.8 8z"
_DOWN = "M3 4.5h10L8 12.5z"
_BANG = "M6.7 2.8h2.6v6.2H6.7zM6.7 10.6h2.6v2.6H6.7z"
_CORNER = "M13 3.5V13H3.5z"
_CROSSED = "M2.75 4L4 2.75l4 4 4-4L13.25 4l-4 4 4 4L12 13.25l-4-4-4 4L2.75 12l4-4z"
_DASH = "M3 6.8h10v2.4H3z"
_SQUARE = "M5 5h6v6H5z"
_PLAY = "M5 3.2L13 8l-8 4.8z"
_HANDS = "M7 3.8h2v3.8l2.9 1.7-1 1.8L7 8.8z"
_PAUSE = "M4.2 3.5h2.6v9H4.2zM9.2 3.5h2.6v9H9.2z"
_CHECK = "M3 8.4l1.9-1.9 2 2 4.3-4.7L13 5.4l-6 6.7z"
_ARROW = "M3 6.7h4.5V3.5L13 8l-5.5 4.5V9.3H3z"

#: Each ground as an even-odd path in the box, for the symbols that pages use.
GROUND_PATHS: dict[Ground, str] = {
    "solid": "M1 1h14v14H1z",
    "split": "M1 1h2.75v14H1zM4.75 1h2.75v14H4.75zM8.5 1h2.75v14H8.5zM12.25 1H15v14h-2.75z",
    "hatch": "M1 1h4.5L1 5.5zM8.5 1H13L1 13V8.5zM15 2v4.5L6.5 15H2zM15 9.5V15H9.5z",
    "half": "M1 1h14v14H1zM2.75 2.75v5.25h10.5V2.75z",
    "hollow": "M1 1h14v14H1zM2.75 2.75v10.5h10.5V2.75z",
    "faint": "M1 1h4v1.5H2.5V5H1zM11 1h4v4h-1.5V2.5H11zM1 11h1.5v2.5H5V15H1zM13.5 11H15v4h-4v-1.5h2.5z",
    "dashed": (
        "M1 1h3.5v1.75H2.75V4.5H1zM6.25 1h3.5v1.75h-3.5zM11.5 1H15v3.5h-1.75V2.75H11.5zM13.25 6.25H15v3.5h-1.75z"
        "M13.25 11.5H15V15h-3.5v-1.75h1.75zM6.25 13.25h3.5V15h-3.5zM1 11.5h1.75v1.75H4.5V15H1zM1 6.25h1.75v3.5H1z"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One state of one kind, as people see it."""

    value: str  #: the word in the log and the API
    label: str  #: the word on the screen
    meaning: str  #: one sentence for tooltips and legends
    light: str  #: colour on light ground, #rrggbb
    dark: str  #: colour on dark ground, #rrggbb
    glyph: str  #: one character for plain text
    ground: Ground  #: how the cell is filled
    mark: str  #: path in the box; cut out of inked grounds, drawn on open ones; may be empty


def _states(*rows: tuple[str, str, str, str, str, Ground, str, str]) -> tuple[State, ...]:
    """Rows of value, label, light, dark, glyph, ground, mark, meaning."""
    return tuple(
        State(value=value, label=label, light=light, dark=dark, glyph=glyph, ground=ground, mark=mark, meaning=meaning)
        for value, label, light, dark, glyph, ground, mark, meaning in rows
    )


CONDITIONS = _states(
    ("absent", "Absent", "#7b8492", "#7f8a99", "–", "solid", _DASH, "In the inventory once, no longer reported."),
    ("unknown", "Unknown", "#6a6f9c", "#8f95c9", "◌", "solid", _RING, "Unreachable: not heard from, not known to be dead."),
    ("failed", "Failed", "#cf2f2f", "#f0605c", "✕", "solid", _CROSS, "A fatal verdict: its work is swapped or moved."),
    (
        "in_repair",
        "In repair",
        "#c2570c",
        "#e58a45",
        "+",
        "solid",
        _PLUS,
        "Taken out by repair, back when repair ends; a node that failed counts as failed until then.",
    ),
    ("quarantined", "Quarantined", "#a8329a", "#d877ca", "◆", "solid", _DIAMOND, "Held back after flapping, until released."),
    ("draining", "Draining", "#0f7895", "#3fb0cf", "▼", "solid", _DOWN, "Takes no new work; what runs may end."),
    ("suspect", "Suspect", "#9a6a00", "#d9a535", "!", "solid", _BANG, "Signals against it, no verdict yet."),
    ("degraded", "Degraded", "#75760f", "#b9ba4a", "◢", "solid", _CORNER, "Works below full strength; still placeable."),
    ("healthy", "Healthy", "#4b8069", "#5d9a7f", "■", "solid", _NONE, "Nothing against it."),
)

USES = _states(
    ("external", "External", "#9b4a7c", "#cf86b0", "▨", "hatch", _NONE, "Used by work that is not managed here."),
    ("stopping", "Stopping", "#5a6b8c", "#8fa0c2", "▣", "solid", _SQUARE, "Its job was asked to stop and has not yet."),
    ("allocated", "Allocated", "#3f72cf", "#6594ea", "■", "solid", _NONE, "Whole node in use by one job."),
    ("lent", "Lent", "#7a56c8", "#a78bf0", "◉", "solid", _DOT, "A spare lent to work that gives it back at once."),
    ("shared", "Shared", "#0d8285", "#35b3b5", "▥", "split", _NONE, "Some of its GPUs in use by jobs below a node."),
    ("reserved", "Reserved", "#a36a08", "#dba73f", "◒", "half", _NONE, "Free, held for one named job."),
    ("out", "Out", "#7b8492", "#7f8a99", "·", "faint", _NONE, "Free, but its condition keeps work off it."),
    ("spare", "Spare", "#24804f", "#4fb981", "◎", "hollow", _DOT, "Free, owed to its domain to replace a failed node."),
    ("stranded", "Stranded", "#b9552b", "#e58b62", "⧄", "hollow", _SLASH, "Free, but too few in its domain for a slice."),
    ("idle", "Idle", "#5f6f86", "#9aa8bd", "□", "hollow", _NONE, "Free, in a domain with room for a whole slice."),
)

JOB_STATES = _states(
    ("submitted", "Submitted", "#6b7480", "#98a3b2", "◌", "hollow", _RING, "Accepted, not yet in the queue."),
    ("held", "Held", "#7a56c8", "#a78bf0", "⏸", "hollow", _PAUSE, "Kept out of the queue until released."),
    ("waiting", "Waiting", "#9a6a00", "#d9a535", "⧗", "hollow", _HANDS, "In the queue; its page says what it waits for."),
    ("placed", "Placed", "#3f72cf", "#6594ea", "◎", "hollow", _DOT, "Has its nodes; work not started yet."),
    ("starting", "Starting", "#3f72cf", "#6594ea", "➜", "hollow", _ARROW, "Work is starting on its nodes."),
    ("running", "Running", "#2f66c9", "#6594ea", "▶", "solid", _PLAY, "Work runs on every slot."),
    ("stalled", "Stalled", "#c2570c", "#e58a45", "!", "solid", _BANG, "A slice lost a node and waits for another."),
    ("stopping", "Stopping", "#5a6b8c", "#8fa0c2", "▣", "solid", _SQUARE, "Asked to stop; nodes leave as their work stops."),
    ("finished", "Finished", "#24804f", "#4fb981", "✓", "solid", _CHECK, "Ended well."),
    ("failed", "Failed", "#cf2f2f", "#f0605c", "✕", "solid", _CROSS, "Ended by its own failure."),
    ("cancelled", "Cancelled", "#6b7480", "#98a3b2", "–", "solid", _DASH, "Ended on request."),
)

#: Which work a rack takes. The shapes are those of the frames on the map (`js/paint.js`): none, dashed, closed, crossed out.
RACK_STATES = _states(
    ("open", "Open", "#7b8492", "#7f8a99", "·", "faint", _NONE, "Takes all work."),
    (
        "no_new_long_jobs",
        "No new long jobs",
        "#9a6a00",
        "#d9a535",
        "┄",
        "dashed",
        _NONE,
        "Takes only work that ends before its maintenance.",
    ),
    ("draining", "Draining", "#0f7895", "#3fb0cf", "□", "hollow", _NONE, "Takes no new work; out of service once empty."),
    ("out", "Out of service", "#5a6472", "#98a3b2", "☒", "hollow", _CROSSED, "Takes no work."),
)

#: Colours by which jobs are told apart on the map, light and dark; what a colour is, the hover card says.
JOB_HUES = (
    ("#3f72cf", "#6594ea"),
    ("#0d8285", "#35b3b5"),
    ("#7a56c8", "#a78bf0"),
    ("#4f7d2e", "#86b85a"),
    ("#a34d8a", "#d388bd"),
    ("#2b7ba3", "#5cb0d8"),
    ("#8a6a2f", "#c4a05c"),
    ("#5b6aa8", "#97a3de"),
)

STATES: dict[Kind, tuple[State, ...]] = {"condition": CONDITIONS, "use": USES, "job": JOB_STATES, "rack": RACK_STATES}
_BY_VALUE = {(kind, state.value): state for kind, states in STATES.items() for state in states}


def state_of(kind: Kind, value: str) -> State:
    """The look of one state. An unknown value is a broken assumption of the caller."""
    try:
        return _BY_VALUE[kind, value]
    except KeyError:
        known = ", ".join(state.value for state in STATES.get(kind, ()))
        raise ValueError(f"{kind} {value!r} has no look; a {kind} is one of: {known or 'no such kind'}") from None


def shape_path(state: State) -> str:
    """Ground and mark as one even-odd path: a mark is cut out of ink and drawn on an open ground."""
    return GROUND_PATHS[state.ground] + state.mark


def palette_data() -> dict[str, object]:
    """What the browser needs to draw and name every state, in the order of the codes."""
    fields = ("value", "label", "meaning", "light", "dark", "glyph", "ground", "mark")
    states: dict[str, object] = {kind: [{name: getattr(state, name) for name in fields} for state in STATES[kind]] for kind in STATES}
    hues = [{"light": light, "dark": dark} for light, dark in JOB_HUES]
    return {"box": BOX, "ground": {"light": RACK_LIGHT, "dark": RACK_DARK}, "hues": hues, **states}


def palette_json() -> str:
    """`palette_data` as JSON text."""
    return json.dumps(palette_data(), ensure_ascii=False, separators=(",", ":"))


def palette_css() -> str:
    """The style sheet that gives every state its colour as `--state`, by theme."""
    lines = [
        "/* Printed by `python -m frontend.pages.palette`; a test compares. */",
        f":root {{ --rack: light-dark({RACK_LIGHT}, {RACK_DARK}); }}",
    ]
    lines += [
        f".{kind}-{state.value} {{ --state: light-dark({state.light}, {state.dark}); }}"
        for kind, states in STATES.items()
        for state in states
    ]
    lines += [f".hue-{number} {{ --state: light-dark({light}, {dark}); }}" for number, (light, dark) in enumerate(JOB_HUES)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(palette_css(), end="")

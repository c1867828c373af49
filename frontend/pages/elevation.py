"""One rack as a drawing: its trays where they are, who runs on them, and in what condition they are.

`Elevation` takes frozen values and draws step by step; `render` composes the steps. Colours come from the classes
of the palette, so the same text is right on light and dark ground and needs no inline style. Every compute tray has
a title, and one with work is a link to its job. The order is that of an NVL72: ten compute trays, the nine switch
trays in the middle, eight compute trays. A rack of another size has its switch trays after the same share of its
compute trays, and a rack without switch trays is a plain column.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import groupby

from frontend.pages.palette import BOX, State, shape_path, state_of

UNIT = 20  # height of a tray of one rack unit, pixels
SWITCH_UNIT = 13  # a switch tray is drawn lower: there is nothing to read on it
GAP = 2  # between trays
MARGIN = 40  # left of the rack, for slot numbers and domains
WIDTH = 420  # of the rack itself
RAIL = 10  # each side of the trays
HEAD = 10  # above the first and below the last tray
BAND = 26  # coloured end of a tray, with the shape of its use
NAME_SHARE = 0.36  # of a tray's text, for the node's name; the rest is its job's
SLOT_ROOM = 34  # for a slot number at the right end
NVL72_TOP = 10  # compute trays above the switch trays of an NVL72
NVL72_TRAYS = 18
CHARACTER = 6.6  # mean width of a character of the labels, pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One compute tray as the drawing needs it."""

    node: str  #: name of the node
    condition: str  #: value of its condition
    use: str  #: value of its use
    job: str = ""  #: id of the job on it, or ""
    label: str = ""  #: what to write for the job, or "" for its id
    url: str = ""  #: page of the job, or ""
    slot: int | None = None  #: its number in the job's slice, where it has one
    domain: str = ""  #: name of its domain; drawn where the rack holds more than one


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """A rack as the drawing needs it."""

    name: str  #: name of the rack
    slots: tuple[Slot, ...]  #: compute trays from top to bottom
    switch_trays: int = 0  #: NVLink switch trays between them
    failed_switches: frozenset[int] = frozenset()  #: numbers of the failed ones, from 1


class Elevation:
    """Draws the front of one rack as SVG."""

    def __init__(self, rack: Rack) -> None:
        self.rack = rack
        self.above = trays_above(len(rack.slots), rack.switch_trays)
        trays = len(rack.slots) * (UNIT + GAP) + rack.switch_trays * (SWITCH_UNIT + GAP)
        self.height = 2 * HEAD + max(trays - GAP, 0)
        self.width = MARGIN + WIDTH

    def render(self) -> str:
        """The whole drawing as one `svg` element."""
        view = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        parts = (self.draw_title(), self.draw_frame(), *self.draw_domains(), *self.draw_slots(), *self.draw_switches())
        return f'<svg xmlns="http://www.w3.org/2000/svg" class="elevation" role="group" {view}>{"".join(parts)}</svg>'

    def draw_title(self) -> str:
        counted = f"{len(self.rack.slots)} nodes, {self.rack.switch_trays} switch trays"
        return f"<title>{escape(self.rack.name)}: {counted}</title>"

    def draw_frame(self) -> str:
        """The cabinet: a frame with two rails."""
        rails = "".join(
            f'<rect class="elevation-rail" x="{x}" y="0" width="{RAIL - 3}" height="{self.height}" rx="2"/>'
            for x in (MARGIN, MARGIN + WIDTH - RAIL + 3)
        )
        return f'<rect class="elevation-frame" x="{MARGIN}" width="{WIDTH}" height="{self.height}" rx="4"/>{rails}'

    def draw_domains(self) -> list[str]:
        """A bar beside the trays of each domain, where the rack holds more than one."""
        runs = [list(run) for _, run in groupby(range(len(self.rack.slots)), key=lambda index: self.rack.slots[index].domain)]
        return [self.draw_domain(run[0], run[-1]) for run in runs] if len(runs) > 1 else []

    def draw_domain(self, first: int, last: int) -> str:
        """The bar of one domain; its name is written along it."""
        name = self.rack.slots[first].domain
        top, bottom = self._slot_top(first), self._slot_top(last) + UNIT
        middle = (top + bottom) / 2
        written = fitted(name, bottom - top)
        return (
            f'<g class="elevation-domain"><title>Domain {escape(name)}</title>'
            f'<path d="M16 {top}h-4v{bottom - top}h4"/>'
            f'<text x="8" y="{middle:g}" text-anchor="middle" transform="rotate(-90 8 {middle:g})">{escape(written)}</text></g>'
        )

    def draw_slots(self) -> list[str]:
        return [
            self.draw_number(index, self._slot_top(index)) + self.draw_slot(slot, self._slot_top(index), named=self._opens_run(index))
            for index, slot in enumerate(self.rack.slots)
        ]

    def draw_number(self, index: int, y: int) -> str:
        """The slot's number in the margin."""
        middle = y + UNIT / 2 + 4
        return f'<text class="elevation-number" x="{MARGIN - 8}" y="{middle:g}" text-anchor="end">{index + 1}</text>'

    def draw_slot(self, slot: Slot, y: int, *, named: bool) -> str:
        """One compute tray; a link where it has work. `named` trays carry the label of their job."""
        use, condition = state_of("use", slot.use), state_of("condition", slot.condition)
        x, width = MARGIN + RAIL, WIDTH - 2 * RAIL
        told = [slot.node, use.label, condition.label] + ([slot.job] if slot.job else [])
        told += [] if slot.slot is None else [f"slot {slot.slot}"]
        parts = [
            f"<title>{escape(', '.join(told))}</title>",
            f'<rect class="elevation-tray" x="{x}" y="{y}" width="{width}" height="{UNIT}" rx="2"/>',
            self.draw_band("use", use, x, y),
            self.draw_labels(slot, x + BAND + 8, y, named=named),
        ]
        if slot.condition != "healthy":
            parts.append(self.draw_band("condition", condition, x + width - BAND, y))
        body = "".join(parts)
        tray = f'<g class="elevation-slot use-{use.value}" role="img">{body}</g>'
        return f'<a class="elevation-link" href="{escape(slot.url)}">{tray}</a>' if slot.url else tray

    def draw_band(self, kind: str, state: State, x: int, y: int) -> str:
        """One end of a tray in the colour of a state, with its shape."""
        side = UNIT - 8
        scale = side / BOX
        left, top = x + (BAND - side) / 2, y + (UNIT - side) / 2
        return (
            f'<g class="{kind}-{state.value}"><rect class="elevation-band" x="{x}" y="{y}" width="{BAND}" '
            f'height="{UNIT}" rx="2"/><path class="elevation-shape" fill-rule="evenodd" '
            f'transform="translate({left:g} {top:g}) scale({scale:g})" d="{shape_path(state)}"/></g>'
        )

    def draw_labels(self, slot: Slot, x: int, y: int, *, named: bool) -> str:
        """The node's name, the label of its job, and its slot number at the right."""
        room = WIDTH - 2 * RAIL - 2 * BAND - 16
        middle, from_name = y + UNIT / 2 + 4, x + room * NAME_SHARE
        name = fitted(slot.node, room * NAME_SHARE)
        job = fitted(slot.label or slot.job, room * (1 - NAME_SHARE) - SLOT_ROOM) if named else ""
        number = "" if slot.slot is None else str(slot.slot)
        return (
            f'<text class="elevation-node" x="{x}" y="{middle:g}">{escape(name)}</text>'
            f'<text class="elevation-job" x="{from_name:g}" y="{middle:g}">{escape(job)}</text>'
            f'<text class="elevation-job" x="{x + room}" y="{middle:g}" text-anchor="end">{number}</text>'
        )

    def draw_switches(self) -> list[str]:
        top = HEAD + self.above * (UNIT + GAP)
        return [self.draw_switch(tray, top + (tray - 1) * (SWITCH_UNIT + GAP)) for tray in range(1, self.rack.switch_trays + 1)]

    def draw_switch(self, tray: int, y: int) -> str:
        """One NVLink switch tray: a lower tray with its row of ports."""
        failed = tray in self.rack.failed_switches
        x, width = MARGIN + RAIL, WIDTH - 2 * RAIL
        title = f"Switch tray {tray}{', failed' if failed else ''}"
        style = "elevation-switch condition-failed is-failed" if failed else "elevation-switch"
        middle = y + SWITCH_UNIT / 2
        return (
            f'<g class="{style}" role="img"><title>{title}</title>'
            f'<rect x="{x}" y="{y}" width="{width}" height="{SWITCH_UNIT}" rx="2"/>'
            f'<path class="elevation-ports" d="M{x + BAND + 8} {middle:g}h{width - 2 * BAND - 16}"/></g>'
        )

    def _opens_run(self, index: int) -> bool:
        """Whether a tray is the first of its job, also anew below the switch trays."""
        slots = self.rack.slots
        return index in (0, self.above) or slots[index - 1].job != slots[index].job

    def _slot_top(self, index: int) -> int:
        below = self.rack.switch_trays * (SWITCH_UNIT + GAP) if index >= self.above else 0
        return HEAD + index * (UNIT + GAP) + below


def trays_above(compute: int, switches: int) -> int:
    """Compute trays above the switch trays: 10 of the 18 of an NVL72, the same share of any other rack."""
    return -(-compute * NVL72_TOP // NVL72_TRAYS) if switches else compute


def fitted(text: str, room: float) -> str:
    """The text cut to the room it has, in pixels; the tray's title keeps the whole."""
    most = int(room / CHARACTER)
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"

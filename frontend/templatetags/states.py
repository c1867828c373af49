"""Template words for states, times and counts: pages hand over plain values, never markup."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from clusters.domain.jobs import JobKind
from frontend.pages.palette import BOX, STATES, Kind, palette_data, shape_path, state_of

register = template.Library()

_SECOND = 1_000_000
_UNITS = (("d", 86_400 * _SECOND), ("h", 3_600 * _SECOND), ("min", 60 * _SECOND), ("s", _SECOND))


@register.simple_tag
def glyph(kind: Kind, value: str) -> SafeString:
    """The shape of a state alone, beside text that already names it."""
    return format_html('<svg class="glyph {0}-{1}" aria-hidden="true"><use href="#{0}-{1}"/></svg>', kind, state_of(kind, value).value)


@register.simple_tag
def state_label(kind: Kind, value: str) -> str:
    """The label of a state alone."""
    return state_of(kind, value).label


@register.simple_tag
def state(kind: Kind, value: str) -> SafeString:
    """The shape and the label of a state, with its meaning as a tooltip."""
    look = state_of(kind, value)
    return format_html('<span class="state" title="{}">{}{}</span>', look.meaning, glyph(kind, value), look.label)


@register.simple_tag
def state_symbols() -> SafeString:
    """One hidden sprite with the shape of every state; `glyph` refers to it."""
    shapes = ((kind, look.value, BOX, BOX, shape_path(look)) for kind, states in STATES.items() for look in states)
    symbols = format_html_join("", '<symbol id="{}-{}" viewBox="0 0 {} {}"><path fill-rule="evenodd" d="{}"/></symbol>', shapes)
    return format_html('<svg class="sprite" aria-hidden="true" width="0" height="0">{}</svg>', symbols)


@register.simple_tag
def palette() -> dict[str, object]:
    """The palette for `json_script`."""
    return palette_data()


@register.filter
def duration(microseconds: int | None) -> str:
    """A span as its two largest units: `3 d 4 h`, `2 min 10 s`, `0 s`; empty for none."""
    if microseconds is None:
        return ""
    rest = max(int(microseconds), 0)
    parts: list[str] = []
    for name, size in _UNITS:
        amount, rest = divmod(rest, size)
        if amount or parts:
            parts.append(f"{amount} {name}" if amount else "")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if part) or "0 s"


@register.filter
def kind_word(kind: str) -> str:
    """The kind of a job as a word in a sentence."""
    return kind.upper() if kind == JobKind.RL else kind


@register.filter
def instant(microseconds: int | None) -> str:
    """An Instant as UTC text to the second; empty for none."""
    if microseconds is None:
        return ""
    return datetime.fromtimestamp(microseconds / _SECOND, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


@register.filter
def moment(microseconds: int) -> str:
    """An Instant as day and minute, for lists whose rows carry the whole instant elsewhere."""
    return datetime.fromtimestamp(microseconds / _SECOND, tz=UTC).strftime("%m-%d %H:%M")


@register.simple_tag
def when(microseconds: int, looks: str = "") -> SafeString:
    """An Instant as day and minute, with the whole instant and its zone as a tooltip; `looks` are classes."""
    return format_html(
        '<time{} datetime="{}" title="{} UTC">{}</time>',
        format_html(' class="{}"', looks) if looks else "",
        iso(microseconds),
        instant(microseconds),
        moment(microseconds),
    )


@register.filter
def lower_first(text: str) -> str:
    """A sentence as part of another: without its capital and its full stop."""
    return text[:1].lower() + text[1:].removesuffix(".")


@register.filter
def iso(microseconds: int) -> str:
    """An Instant for the `datetime` attribute of a time element."""
    return datetime.fromtimestamp(microseconds / _SECOND, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.filter
def sizes(slices: Iterable[int]) -> str:
    """Slice sizes in order, equal ones folded: `16 + 16`, `20 × 16 + 12 × 15`; empty for none."""
    runs = [(size, len(list(run))) for size, run in groupby(slices)]
    if len(runs) == 1 and runs[0][1] == 2:
        return f"{runs[0][0]} + {runs[0][0]}"
    return " + ".join(str(size) if times == 1 else f"{times} × {size}" for size, times in runs)


@register.filter
def grouped(number: int | None) -> str:
    """An integer with thin groups of thousands, as the browser shows it; empty for none."""
    return "" if number is None else f"{number:,}"

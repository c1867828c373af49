"""Template words of the capacity page: shares, and numbers read off the log with their intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from django import template
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString

from frontend.live.frames import Capacity
from frontend.selectors.capacity import Interval

register = template.Library()


@register.filter
def percent(share: float | None, digits: int = 1) -> str:
    """A share as per cent: 0.02 is `2.00 %`; a dash for none."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


@register.filter
def share_away(now: Capacity) -> str:
    """The unavailable share of the nodes there are now."""
    return percent(now.unavailable / now.nodes if now.nodes else None, 2)


@register.filter
def as_json(value: Any, name: str) -> SafeString:
    """Values of ours in a script element of that name, for the page's own script."""
    return json_script(msgspec.to_builtins(value, str_keys=True), name)


@register.simple_tag
def interval(found: Interval | None, digits: int = 1, unit: str = "", *, brief: bool = False) -> SafeString:
    """A number and the limits of its interval, or why there are none; `brief` leaves the reason to a tooltip and to screen readers."""
    return _told(found, lambda number: f"{number:,.{digits}f}", f" {unit}" if unit else "", brief)


@register.simple_tag
def interval_percent(found: Interval | None, digits: int = 2) -> SafeString:
    """The same for a share."""
    return _told(found, lambda number: f"{100 * number:.{digits}f}", " %", False)


def _told(found: Interval | None, text: Callable[[float], str], unit: str, brief: bool) -> SafeString:
    if found is None or (found.value is None and found.low is None):
        return _aside("–", found.reason if found else "nothing was observed yet", brief)
    value = "–" if found.value is None else f"{text(found.value)}{unit}"
    if found.low is None:
        return format_html("<span>{} {}</span>", value, _aside("no interval", found.reason, brief))
    limits = f"at least {text(found.low)}{unit}" if found.high is None else f"{text(found.low)} to {text(found.high)}"
    return format_html('<span>{} <span class="muted">{}</span></span>', value, limits)


def _aside(words: str, reason: str, brief: bool) -> SafeString:
    if brief:
        return format_html('<span class="muted" title="{1}">{0}<span class="visually-hidden">: {1}</span></span>', words, reason)
    return format_html('<span class="muted">{}: {}</span>', words, reason)

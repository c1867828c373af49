"""Fields of forms that people type values into which no browser has a control for: spans, moments, layers, lists of jobs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from django import forms

from clusters.domain.ids import LAST_INSTANT, SECOND
from frontend.pages.durations import seconds_of

_WHOLE = "Give a whole number."
_SPAN = "Give a time with its unit, such as 36h, 45min or 1d 12h."
_MOMENT = "Give day and time, such as 2026-03-01T18:30."
_BEYOND = "Give a day from 1970 to 2199."
_LAYERS = "Give levels with their nodes, such as block 48, rack 16."
_OFFERED = "Give one of those offered."
_JOBS = "Give ids of jobs, such as j000123."

_LAYER = re.compile(r"(\S.*?)[\s:=]+(\d{1,6})")
_JOB = re.compile(r"j[0-9]{6,18}")


class _Typed(forms.CharField):
    """One line of text that is read into a value."""

    most = 200

    def __init__(self, **options: Any) -> None:
        widget = options.pop("widget", None) or forms.TextInput(attrs={"autocomplete": "off"})
        super().__init__(required=False, max_length=self.most, widget=widget, **options)

    def clean(self, value: Any) -> Any:
        return self.read(super().clean(value))

    def read(self, text: str) -> Any:
        """The value; raises ValidationError."""
        raise NotImplementedError


class SpanField(_Typed):
    """A span of time; its value is in seconds, None where nothing was typed."""

    most = 40

    def read(self, text: str) -> int | None:
        seconds = seconds_of(text) if text else None
        if text and seconds is None:
            raise forms.ValidationError(_SPAN)
        return seconds


class MomentField(_Typed):
    """A moment of cluster time, in UTC; its value is an Instant, None where nothing was typed."""

    most = 40

    def __init__(self, **options: Any) -> None:
        super().__init__(widget=forms.DateTimeInput(attrs={"type": "datetime-local"}), **options)

    def read(self, text: str) -> int | None:
        if not text:
            return None
        try:
            at = datetime.fromisoformat(text)
            moment = round(at.replace(tzinfo=at.tzinfo or UTC).timestamp()) * SECOND
        except (ValueError, OverflowError) as error:
            raise forms.ValidationError(_MOMENT) from error
        if not 0 <= moment <= LAST_INSTANT:
            raise forms.ValidationError(_BEYOND)
        return moment


class LayersField(_Typed):
    """Levels with sizes; its value is a list of {level, size}."""

    def read(self, text: str) -> list[dict[str, Any]]:
        found = [_LAYER.fullmatch(piece.strip()) for piece in text.split(",") if piece.strip()]
        if None in found:
            raise forms.ValidationError(_LAYERS)
        return [{"level": layer[1], "size": int(layer[2])} for layer in found if layer is not None]


class JobsField(_Typed):
    """Ids of jobs, apart by spaces or commas."""

    most = 1000

    def read(self, text: str) -> list[str]:
        names = [name for name in re.split(r"[\s,]+", text) if name]
        if not all(map(_JOB.fullmatch, names)):
            raise forms.ValidationError(_JOBS)
        return names


def number(label: str, **options: Any) -> forms.IntegerField:
    """A whole number, or nothing."""
    widget = forms.NumberInput(attrs={"inputmode": "numeric", "autocomplete": "off"})
    return forms.IntegerField(label=label, required=False, widget=widget, error_messages={"invalid": _WHOLE}, **options)


def choice(label: str, **options: Any) -> forms.ChoiceField:
    """One of the words that the cluster knows, or none in particular; they are given when the form is made."""
    return forms.ChoiceField(label=label, required=False, error_messages={"invalid_choice": _OFFERED}, **options)

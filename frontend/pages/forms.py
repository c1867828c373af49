"""The form that submits a job. What it asks for is the domain's request; ranges and their messages come from there."""

from __future__ import annotations

from typing import Any

from django import forms

from clusters.domain.constraints import MAX_NAME
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobKind, JobRequest, Recovery, default_restartable
from frontend.pages.durations import seconds_of

_WHOLE = "Give a whole number."
_SPAN = "Give a time with its unit, such as 36h, 45min or 1d 12h."

#: What the domain calls the fields that people type as text.
_TYPED = {"expected_run_s": "expected_run_time", "checkpoint_interval_s": "checkpoint_interval"}


class SpanField(forms.CharField):
    """A span of time; its value is in seconds, None where nothing was typed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, max_length=40, widget=forms.TextInput(attrs={"autocomplete": "off"}), **options)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        seconds = seconds_of(text) if text else None
        if text and seconds is None:
            raise forms.ValidationError(_SPAN)
        return seconds


def _number(label: str, **options: Any) -> forms.IntegerField:
    widget = forms.NumberInput(attrs={"inputmode": "numeric", "autocomplete": "off"})
    return forms.IntegerField(label=label, required=False, widget=widget, error_messages={"invalid": _WHOLE}, **options)


class JobForm(forms.Form):
    """A job as people ask for it."""

    name = forms.CharField(label="Name", max_length=MAX_NAME, widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}))
    kind = forms.ChoiceField(label="Kind", choices=[(kind.value, kind.value.capitalize()) for kind in JobKind])
    team = forms.CharField(label="Team", max_length=MAX_NAME, required=False)
    priority = _number("Priority", initial=0, help_text="Higher goes first; equal ones by age.")
    unit = forms.ChoiceField(choices=[("nodes", "Nodes"), ("gpus", "GPUs")], initial="nodes")
    nodes = _number("Nodes", help_text="Whole nodes, cut into slices that each stay in one domain.")
    gpus = _number("GPUs", help_text="Below a node they share one; from a node's worth on they are whole nodes.")
    slice_size = _number("Slice unit", help_text="Slices are whole multiples of so many nodes, such as TP × EP.")
    max_slice = _number("Largest slice", help_text="Nodes; lowers what the policy allows.")
    spares = _number("Spares", help_text="Kept free in each of its domains, instead of the policy's number.")
    expected_run_time = SpanField(label="Expected run time", help_text="Such as 36h or 45min.")
    checkpoint_interval = SpanField(label="Checkpoint interval", help_text="How much work an interruption may cost.")
    recovery = forms.ChoiceField(
        label="After a failed node",
        choices=[(Recovery.CHECKPOINT.value, "Back to the last checkpoint"), (Recovery.PEER.value, "Take state from a peer")],
    )
    restartable = forms.BooleanField(
        label="May be restarted", required=False, initial=True, help_text="It may be stopped and started again to make room."
    )

    def clean(self) -> dict[str, Any]:
        """Build the request; what the domain refuses is told at the field it names."""
        values = super().clean() or {}
        if not self.errors:
            try:
                values["request"] = job_request(values)
            except InvalidRequest as error:
                self.refuse(error.field, error.expected)
        return values

    def refuse(self, field: str, expected: str) -> None:
        """Say at a field what would be right."""
        name = _TYPED.get(field, field)
        self.add_error(name if name in self.fields else None, f"{expected[:1].upper()}{expected[1:]}.")


def job_request(values: dict[str, Any]) -> JobRequest:
    """The request that the form's values make; raises InvalidRequest."""
    kind, unit = JobKind(values["kind"]), values["unit"]
    if values[unit] is None:
        raise InvalidRequest(unit, None, f"say how many {'nodes' if unit == 'nodes' else 'GPUs'}")
    return JobRequest(
        name=values["name"],
        kind=kind,
        team=values["team"],
        priority=values["priority"] or 0,
        nodes=values["nodes"] if unit == "nodes" else None,
        gpus=values["gpus"] if unit == "gpus" else None,
        slice_size=values["slice_size"],
        max_slice=values["max_slice"],
        spares=values["spares"],
        expected_run_s=values["expected_run_time"],
        checkpoint_interval_s=values["checkpoint_interval"],
        recovery=Recovery(values["recovery"]),
        restartable=values["restartable"] and default_restartable(kind),
    )

"""The form that submits a job. It reads what people type into the plain values that the API takes too; what they mean, and what is wrong
with them, the domain says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django import forms

from clusters.domain.constraints import MAX_NAME, LevelMode
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobKind, OnStall, Recovery, default_restartable
from frontend.jobrequests import request_of
from frontend.pages.formfields import JobsField, LayersField, MomentField, SpanField, choice, number

#: What the domain calls the fields that people type as text.
_TYPED = {"expected_run_s": "expected_run_time", "checkpoint_interval_s": "checkpoint_interval", "time_limit_s": "time_limit"}
#: Fields that messages of the domain name, as the form calls them.
_WORDS = {"slice_size": "the slice unit", "max_slice": "the largest slice"}
#: Values inside others: layers[0].size is told at `layers`, plan.tp at `plan_tp`, parts[1].nodes at `part_1_nodes`.
_INSIDE = re.compile(r"(?P<list>layers|after)\[\d+\].*|plan\.(?P<degree>\w+)|parts\[(?P<part>\d+)\]\.(?P<of_part>\w+)")

DEGREES = ("tp", "ep", "pp", "dp")
#: What each part is asked, and the short form of its label: the long one says of which part.
PART_FIELDS = {
    "name": "Name",
    "nodes": "Nodes",
    "slice_size": "Slice unit",
    "max_slice": "Largest slice",
    "level": "In one",
    "mode": "How strictly",
}
#: Parts that the form has rows for; the API takes more.
PART_ROWS = 3

_KINDS = [(kind.value, "RL" if kind is JobKind.RL else kind.value.capitalize()) for kind in JobKind]
_MODES = [(LevelMode.ANY.value, "Any"), (LevelMode.PREFERRED.value, "Preferred"), (LevelMode.REQUIRED.value, "Required")]


class JobForm(forms.Form):
    """A job as people ask for it."""

    name = forms.CharField(label="Name", max_length=MAX_NAME, widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}))
    kind = forms.ChoiceField(label="Kind", choices=_KINDS)
    team = forms.CharField(label="Team", max_length=MAX_NAME, required=False)
    priority = number("Priority", initial=0, help_text="Higher goes first; equal ones by age.")
    priority_class = choice("Class", help_text="What it starts from in the queue.")
    unit = forms.ChoiceField(label="Counted in", choices=[("nodes", "Nodes"), ("gpus", "GPUs")], initial="nodes")
    nodes = number("Nodes", help_text="Whole nodes, cut into slices that each stay in one domain.")
    gpus = number("GPUs", help_text="Below a node they share one; from a node's worth on they are whole nodes.")
    slice_size = number("Slice unit", help_text="Slices are whole multiples of so many nodes, such as TP × EP.")
    max_slice = number("Largest slice", help_text="Nodes; lowers what the policy allows.")
    spares = number("Spares", help_text="Kept free in each of its domains, instead of the policy's number.")
    tail = forms.BooleanField(
        label="Allow a tail", required=False, help_text="A last slice that is no multiple of the slice unit, where nodes are left over."
    )
    expected_run_time = SpanField(label="Expected run time", help_text="Such as 36h or 45min.")
    time_limit = SpanField(label="Time limit", help_text="Work that runs longer is stopped, and fails.")
    checkpoint_interval = SpanField(label="Checkpoint interval", help_text="How much work an interruption may cost.")
    recovery = forms.ChoiceField(
        label="After a failed node",
        choices=[(Recovery.CHECKPOINT.value, "Back to the last checkpoint"), (Recovery.PEER.value, "Take state from a peer")],
    )
    on_stall = forms.ChoiceField(
        label="Where a slice has no place",
        choices=[
            (OnStall.HOLD.value, "The others wait for it"),
            (OnStall.RESTART.value, "Start anew where all fits"),
            (OnStall.SHRINK.value, "Start anew, smaller if need be"),
        ],
        required=False,
    )
    restartable = forms.BooleanField(
        label="May be restarted", required=False, initial=True, help_text="It may be stopped and started again to make room."
    )
    level = choice("Keep together in one")
    mode = forms.ChoiceField(
        label="How strictly",
        choices=_MODES,
        required=False,
        help_text="Required: it waits for one. Preferred: it takes several too.",
    )
    layers = LayersField(label="Layers", help_text="Outermost first, such as block 48, rack 16: so many nodes in a row stay in one.")
    exclusive = forms.BooleanField(label="Exclusive", required=False, help_text="No other work in its domains.")
    not_before = MomentField(label="Not before", help_text="Cluster time, UTC.")
    after = JobsField(label="After", help_text="Jobs that must have finished, such as j000123.")

    def __init__(self, data: Any = None, *, levels: Iterable[str] = (), classes: Iterable[str] = ()) -> None:
        super().__init__(data)
        known = [("", "None in particular"), *((level, level.capitalize()) for level in levels)]
        for degree in DEGREES:
            self.fields[f"plan_{degree}"] = number(degree.upper())
        for row in range(PART_ROWS):
            label = {name: f"{short} of part {row + 1}" for name, short in PART_FIELDS.items()}
            self.fields[f"part_{row}_name"] = forms.CharField(label=label["name"], max_length=MAX_NAME, required=False)
            self.fields[f"part_{row}_nodes"] = number(label["nodes"])
            self.fields[f"part_{row}_slice_size"] = number(label["slice_size"])
            self.fields[f"part_{row}_max_slice"] = number(label["max_slice"])
            self.fields[f"part_{row}_level"] = forms.ChoiceField(label=label["level"], choices=known, required=False)
            self.fields[f"part_{row}_mode"] = forms.ChoiceField(label=label["mode"], choices=_MODES, required=False)
        self.fields["level"].choices = known  # type: ignore[attr-defined]
        self.fields["priority_class"].choices = [(name, name) for name in classes] or [("", "Standard")]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Build the request; what the domain refuses is told at the field it names."""
        values = super().clean() or {}
        if not self.errors:
            try:
                values["request"] = request_of(plain_of(values))
            except InvalidRequest as error:
                self.refuse(error.field, error.expected)
        return values

    def refuse(self, field: str, expected: str) -> None:
        """Say at a field what would be right."""
        name = _form_field(field)
        for word, label in _WORDS.items():
            expected = expected.replace(word, label)
        self.add_error(name if name in self.fields else None, f"{expected[:1].upper()}{expected[1:]}.")

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The rows of parts, each with its fields."""
        return [
            {
                "title": f"Part {row + 1}",
                "of": f"of part {row + 1}",
                "cells": [{"field": self[f"part_{row}_{name}"], "short": short} for name, short in PART_FIELDS.items()],
            }
            for row in range(PART_ROWS)
        ]

    @property
    def plan(self) -> list[Any]:
        """The degrees of parallelism."""
        return [self[f"plan_{degree}"] for degree in DEGREES]

    @property
    def opened(self) -> set[str]:
        """The folded sections that something was typed into, or is wrong with."""
        return {section for section, names in _SECTIONS.items() if any(self.errors.get(name) or self._said(name) for name in names)}

    def _said(self, name: str) -> bool:
        return bool(self.is_bound and self.data.get(name)) and self.data.get(name) != LevelMode.ANY.value


_SECTIONS: dict[str, tuple[str, ...]] = {
    "place": ("level", "mode", "layers", "exclusive"),
    "plan": tuple(f"plan_{degree}" for degree in DEGREES),
    "parts": tuple(f"part_{row}_{name}" for row in range(PART_ROWS) for name in PART_FIELDS),
    "start": ("not_before", "after"),
}

_SAME = (
    "name",
    "kind",
    "team",
    "priority_class",
    "slice_size",
    "max_slice",
    "spares",
    "tail",
    "recovery",
    "level",
    "layers",
    "exclusive",
)


def plain_of(values: dict[str, Any]) -> dict[str, Any]:
    """The form's values as the API takes them; raises InvalidRequest where no size is given."""
    unit, parts, plan = values["unit"], _parts(values), _plan(values)
    if values[unit] is None and not parts and plan is None:
        raise InvalidRequest(unit, None, f"say how many {'nodes' if unit == 'nodes' else 'GPUs'}")
    return {
        **{name: values[name] for name in _SAME},
        "priority": values["priority"] or 0,
        unit: values[unit],
        "expected_run_s": values["expected_run_time"],
        "checkpoint_interval_s": values["checkpoint_interval"],
        "time_limit_s": values["time_limit"],
        "restartable": values["restartable"] and default_restartable(JobKind(values["kind"])),
        "mode": values["mode"] or LevelMode.ANY,
        "on_stall": values["on_stall"] or OnStall.HOLD,
        "not_before": values["not_before"],
        "after": values["after"],
        "parts": parts,
        "plan": plan,
    }


def _plan(values: dict[str, Any]) -> dict[str, int] | None:
    given = {degree: values[f"plan_{degree}"] for degree in DEGREES if values[f"plan_{degree}"] is not None}
    return given or None


def _parts(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that something stands in."""
    rows = [{name: values[f"part_{row}_{name}"] for name in PART_FIELDS} for row in range(PART_ROWS)]
    for place, row in enumerate(rows):
        if row["name"] and row["nodes"] is None:
            raise InvalidRequest(f"parts[{place}].nodes", None, "say how many nodes")
    return [{**row, "mode": row["mode"] or LevelMode.ANY} for row in rows if row["nodes"] is not None]


def _form_field(field: str) -> str:
    """What the form calls a field of the request."""
    inside = _INSIDE.fullmatch(field)
    if inside is None:
        return "part_0_name" if field == "parts" else _TYPED.get(field, field)
    if inside["list"]:
        return inside["list"]
    return f"plan_{inside['degree']}" if inside["degree"] else f"part_{inside['part']}_{inside['of_part']}"

"""The form that changes a policy: one field for each setting, and for each cell of its tables, made from its description."""

from __future__ import annotations

from typing import Any

from django import forms

from clusters.domain.errors import InvalidRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import Setting, Value
from clusters.domain.settings import SETTINGS
from clusters.domain.teams import TABLES, Table
from frontend.pages.policytables import TableRows
from frontend.selectors.policy import with_values


class PolicyForm(forms.Form):
    """All settings; an empty number means auto, where the setting allows it."""

    def __init__(self, data: Any = None, *, policy: Policy) -> None:
        """Start from the policy's values."""
        initial = {setting.name: getattr(policy, setting.name) for setting in SETTINGS}
        super().__init__(data, initial=initial)
        for setting in SETTINGS:
            self.fields[setting.name] = _field(setting)
        self.tables = [TableRows(table, getattr(policy, table.name), data) for table in TABLES]
        for rows in self.tables:
            self.initial.update(rows.initial)
            self.fields.update(rows.fields())

    def clean(self) -> dict[str, Any]:
        """Build the policy; what the domain refuses is told at the field it names."""
        values = super().clean() or {}
        if not self.errors:
            settings = {setting.name: values[setting.name] for setting in SETTINGS}
            tables = {rows.table.name: rows.collect(values) for rows in self.tables}
            try:
                values["policy"] = with_values(Policy(), settings | tables)
            except InvalidRequest as error:
                cell = next((cell for rows in self.tables if (cell := rows.cell_at(error.field))), error.field)
                self.add_error(cell, _sentence(error.expected.replace("null", "nothing")))
        return values


def _field(setting: Setting) -> forms.Field:
    if setting.choices is not None:
        return forms.ChoiceField(label=setting.label, choices=[(word.value, worded(setting, word.value)) for word in setting.choices])
    if setting.switch:
        return forms.BooleanField(label=setting.label, required=False)
    bounds: dict[str, Any] = {"inputmode": "numeric", "autocomplete": "off", "placeholder": "auto" if setting.auto else ""}
    expected = _sentence(setting.expected.replace("null", "nothing"))
    return forms.IntegerField(
        label=setting.label,
        required=not setting.auto,
        min_value=setting.low,
        max_value=setting.high,
        widget=forms.NumberInput(attrs=bounds),
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), expected),
    )


def _sentence(expected: str) -> str:
    return f"{expected[:1].upper()}{expected[1:]}."


def worded(setting: Setting | Table, value: Value) -> str:
    """A value as people read it; that of a table is in words already."""
    if value is None:
        return "auto"
    if isinstance(setting, Setting) and setting.switch:
        return "yes" if value else "no"
    return str(value).replace("_", " ") if isinstance(setting, Setting) and setting.choices is not None else str(value)


def range_of(setting: Setting) -> str:
    """Which values it may have, for people."""
    if not setting.number:
        return ""
    return f"{setting.low:,} to {setting.high:,}{f'; empty: auto ({setting.auto})' if setting.auto else ''}"

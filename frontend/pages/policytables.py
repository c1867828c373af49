"""The tables of the policy in its form: a row of fields for each row, and some empty ones for new rows. An emptied row is taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django import forms

from clusters.domain.constraints import MAX_NAME
from clusters.domain.policy import Policy
from clusters.domain.teams import TABLES, Column, Row, Table

#: Empty rows that a form offers.
SPARE_ROWS = 2

_PLACE = re.compile(r"(\w+)\[(\d+)\]\.(\w+)")


def cell_name(table: Table, row: int, column: Column) -> str:
    """How a form names one cell."""
    return f"{table.name}-{row}-{column.name}"


def sent_cells(policy: Policy) -> list[tuple[str, str]]:
    """The rows as a form sends them."""
    cells: list[tuple[str, str]] = []
    for table in TABLES:
        for number, row in enumerate(getattr(policy, table.name)):
            values = ((column, getattr(row, column.name)) for column in table.columns)
            cells += [(cell_name(table, number, column), "" if value is None else str(value)) for column, value in values]
    return cells


class TableRows:
    """One table in a form."""

    def __init__(self, table: Table, rows: Sequence[Row], data: Mapping[str, Any] | None) -> None:
        """Room for the rows of the policy, or for those that were sent, and for some more."""
        self.table = table
        self.initial = {
            cell_name(table, number, column): getattr(row, column.name) for number, row in enumerate(rows) for column in table.columns
        }
        known = len(rows) if data is None else _sent_rows(table, data)
        self.count = min(known, table.most) + SPARE_ROWS
        self._kept: list[int] = []  # the rows of the form that are rows of the table

    def fields(self) -> dict[str, forms.Field]:
        """A field for each cell."""
        return {
            cell_name(self.table, row, column): _field(column, f"{self.table.label}: {column.label}, row {row + 1}")
            for row in range(self.count)
            for column in self.table.columns
        }

    def collect(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows that have something in them."""
        rows: list[dict[str, Any]] = []
        self._kept = []
        for number in range(self.count):
            row = {column.name: values.get(cell_name(self.table, number, column)) for column in self.table.columns}
            if any(value not in (None, "") for value in row.values()):
                self._kept.append(number)
                rows.append(row)
        return rows

    def cell_at(self, path: str) -> str | None:
        """The cell that the domain names by its path, such as classes[1].priority; the first one for the table as a whole."""
        if path == self.table.name:
            return cell_name(self.table, 0, self.table.columns[0])
        match = _PLACE.fullmatch(path)
        if match is None or match[1] != self.table.name:
            return None
        return f"{self.table.name}-{self._kept[int(match[2])]}-{match[3]}"

    def shown(self, form: forms.Form, policy: Policy) -> dict[str, Any]:
        """What the page shows of it."""
        table = self.table
        rows = [[form[cell_name(table, row, column)] for column in table.columns] for row in range(self.count)]
        return {
            "name": table.name,
            "label": table.label,
            "meaning": table.meaning,
            "columns": [{"label": column.label, "range": _range(column)} for column in table.columns],
            "rows": rows,
            "values": [_told(table, row) for row in getattr(policy, table.name)],
            "default": table.words(getattr(Policy(), table.name)),
            "errors": [
                {"id": f"{cell.auto_id}_error", "text": f"Row {number + 1}: {' '.join(map(str, cell.errors))}"}
                for number, cells in enumerate(rows)
                for cell in cells
                if cell.errors
            ],
        }


def _told(table: Table, row: Row) -> list[str]:
    values = asdict(row)
    return [column.auto if values[column.name] is None else str(values[column.name]) for column in table.columns]


def _sent_rows(table: Table, data: Mapping[str, Any]) -> int:
    """Rows that a browser sent, without the empty ones at the end."""
    count = 0
    for number in range(table.most + SPARE_ROWS):
        cells = [data.get(cell_name(table, number, column)) for column in table.columns]
        if cells[0] is None:
            break
        if any(cells):
            count = number + 1
    return count


def _range(column: Column) -> str:
    if column.text:
        return ""
    return f"{column.low:,} to {column.high:,}{f'; empty: {column.auto}' if column.auto else ''}"


def _field(column: Column, label: str) -> forms.Field:
    attrs = {"aria-label": label, "autocomplete": "off"}
    if column.text:
        return forms.CharField(label=label, required=False, max_length=MAX_NAME, widget=forms.TextInput(attrs=attrs))
    expected = column.expected.replace("null", "nothing")
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=column.low,
        max_value=column.high,
        widget=forms.NumberInput(attrs=attrs | {"inputmode": "numeric", "placeholder": "all" if column.auto else ""}),
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), f"{expected[:1].upper()}{expected[1:]}."),
    )

"""A mixed-integer program as lists of columns and rows. All columns are whole numbers from 0 on, and all costs are whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

INF = float("inf")


@dataclass(slots=True)
class Program:
    """Columns and rows, as lists."""

    costs: list[int] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    index: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def column(self, cost: int, upper: int, rank: int = 0) -> int:
        """The place of a new column. Of solutions that cost the same the one of the lowest rank is best."""
        self.costs.append(cost)
        self.ranks.append(rank)
        self.upper.append(upper)
        return len(self.costs) - 1

    def row(self, low: float, high: float, terms: dict[int, float]) -> None:
        """low <= sum of value x column <= high."""
        for column, value in terms.items():
            if value:
                self.index.append(column)
                self.value.append(value)
        self.starts.append(len(self.index))
        self.low.append(low)
        self.high.append(high)

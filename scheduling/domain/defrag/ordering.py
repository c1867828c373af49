"""An order of moves in which each finds its new place free when its turn comes.

Units that are alike may take each other's places, so who goes where is decided here too. A move into a domain that has room for all that is
still to come there is safe: it only makes room elsewhere. Where no move is safe, those that are possible are tried one after another, up
to a limit; if all of them end in a cycle, there is no order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from scheduling.domain.defrag.model import Problem, Unit

#: Units that may take each other's places: (nodes, where they may be, whether below a slice).
Kind = tuple[int, int, bool]
#: How many units of a kind come to a domain.
Arrivals = dict[tuple[int, Kind], int]

#: Moves looked at before the search for an order is given up.
MOST_STEPS = 4_000


def kind_of(unit: Unit) -> Kind:
    """What the unit has in common with those that may take its place."""
    return unit.size, unit.allowed | 1 << unit.domain if unit.allowed else 0, unit.small


def arrivals_of(problem: Problem, places: Mapping[int, int]) -> Arrivals:
    """The arrivals that these places (unit -> domain) mean."""
    found: Arrivals = {}
    for unit, domain in places.items():
        key = (domain, kind_of(problem.units[unit]))
        found[key] = found.get(key, 0) + 1
    return found


def settle(problem: Problem, leaving: Iterable[int], arrivals: Arrivals) -> tuple[list[int], Arrivals]:
    """The same without units that leave a domain to which others of their kind come: they stay, and the others take their places."""
    left = dict(arrivals)
    moved: list[int] = []
    for unit in sorted(leaving, key=lambda unit: (-problem.units[unit].cost, unit)):
        key = (problem.units[unit].domain, kind_of(problem.units[unit]))
        if left.get(key):
            left[key] -= 1
        else:
            moved.append(unit)
    return sorted(moved), {key: count for key, count in left.items() if count}


def arrange(problem: Problem, leaving: Iterable[int], arrivals: Arrivals, waits: Iterable[int]) -> list[tuple[int, int]] | None:
    """(unit, domain) in order; None where no order was found. Work that waits leaves first."""
    moved, arrivals = settle(problem, leaving, arrivals)
    return _Search(problem, moved, arrivals, waits).run()


class _Search:
    def __init__(self, problem: Problem, moved: Iterable[int], arrivals: Arrivals, waits: Iterable[int]) -> None:
        self._problem = problem
        self._free = [domain.free for domain in problem.domains]
        for owner in waits:
            for unit in problem.owners[owner].units:
                self._free[problem.units[unit].domain] += problem.units[unit].frees
        self._arrivals = arrivals
        self._coming: defaultdict[int, int] = defaultdict(int)
        for (domain, kind), count in arrivals.items():
            self._coming[domain] += kind[0] * count
        self._pending: defaultdict[Kind, set[int]] = defaultdict(set)
        for unit in moved:
            self._pending[kind_of(problem.units[unit])].add(unit)
        self._left = sum(arrivals.values())
        self._steps = MOST_STEPS
        self._done: list[tuple[int, int]] = []

    def run(self) -> list[tuple[int, int]] | None:
        return self._done if self._go() else None

    def _go(self) -> bool:
        start = len(self._done)
        while self._left:
            possible = self._possible()
            safe = [key for key in possible if self._free[key[0]] >= self._coming[key[0]]]
            if safe:
                self._step(safe[0])
                continue
            for key in possible:
                self._steps -= 1
                if self._steps < 0:
                    break
                self._step(key)
                if self._go():
                    return True
                self._undo()
            while len(self._done) > start:
                self._undo()
            return False
        return True

    def _possible(self) -> list[tuple[int, Kind]]:
        return sorted(
            (key for key, count in self._arrivals.items() if count and self._free[key[0]] >= key[1][0] and self._pending[key[1]]),
            key=lambda key: (self._free[key[0]] < self._coming[key[0]], key),
        )

    def _step(self, key: tuple[int, Kind]) -> None:
        domain, kind = key
        units = self._problem.units
        unit = min(self._pending[kind], key=lambda unit: (self._free[units[unit].domain] - self._coming[units[unit].domain], unit))
        self._apply(unit, domain, 1)
        self._done.append((unit, domain))

    def _undo(self) -> None:
        self._apply(*self._done.pop(), -1)

    def _apply(self, number: int, domain: int, way: int) -> None:
        unit = self._problem.units[number]
        kind = kind_of(unit)
        (self._pending[kind].discard if way > 0 else self._pending[kind].add)(number)
        self._arrivals[domain, kind] -= way
        self._coming[domain] -= way * unit.size
        self._free[domain] -= way * unit.size
        self._free[unit.domain] += way * unit.frees
        self._left -= way

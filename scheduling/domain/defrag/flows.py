"""What has moved so far in a search for a plan, with room by domain in buckets, and a way back."""

from __future__ import annotations

from scheduling.domain.defrag.model import Problem, Unit, Way
from scheduling.domain.nodes import bits


class Flows:
    """Units that have left, where they went, and what room that leaves. Every step can be undone."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.places: dict[int, int] = {}  # unit -> domain
        self.waits: set[int] = set()
        self.targets: dict[int, Way] = {}
        self.gone: set[int] = set()  # units that have left their domains
        widest = max((domain.most for domain in problem.domains), default=0)
        self._smalls = [0] * len(problem.domains)  # units below a slice that have come
        self._log: list[tuple[str, int, int]] = []
        self._room = [[domain.small_slack for domain in problem.domains], [domain.slack for domain in problem.domains]]
        self._buckets = [[0] * (widest + 2) for _ in range(2)]
        for large, rooms in enumerate(self._room):
            for domain, room in enumerate(rooms):
                self._buckets[large][self._place(room)] |= 1 << domain

    def room(self, domain: int, unit: Unit) -> int:
        """Nodes of the domain that the unit may take."""
        large = self._room[1][domain]
        return min(large, self._room[0][domain]) if unit.small or self._smalls[domain] else large

    def tightest(self, unit: Unit, barred: int) -> int | None:
        """The domain with the least room that suffices, the lowest of equals."""
        area = unit.allowed & ~barred
        buckets = self._buckets[not unit.small]
        for room in range(unit.size, len(buckets)):
            for domain in bits(buckets[room] & area):
                if self.room(domain, unit) >= unit.size:
                    return domain
        return None

    def mark(self) -> int:
        """Where to go back to."""
        return len(self._log)

    def back(self, mark: int) -> None:
        """Undo all since then."""
        while len(self._log) > mark:
            what, number, domain = self._log.pop()
            if what == "leave":
                self.gone.discard(number)
                self._shift(domain, -self.problem.units[number].frees)
            elif what == "enter":
                del self.places[number]
                unit = self.problem.units[number]
                self._smalls[domain] -= unit.small
                self._shift(domain, unit.size)
            elif what == "serve":
                way = self.targets.pop(number)
                self._shift(number, self._claim(number, way), serves=True)
            else:
                self.waits.discard(number)

    def leave(self, number: int) -> None:
        """The unit leaves its domain."""
        unit = self.problem.units[number]
        self.gone.add(number)
        self._shift(unit.domain, unit.frees)
        self._log.append(("leave", number, unit.domain))

    def enter(self, number: int, domain: int) -> None:
        """The unit, which has left, comes to the domain."""
        unit = self.problem.units[number]
        self.places[number] = domain
        self._smalls[domain] += unit.small
        self._shift(domain, -unit.size)
        self._log.append(("enter", number, domain))

    def wait(self, owner: int) -> None:
        """All units of the owner leave, and go nowhere."""
        self.waits.add(owner)
        self._log.append(("wait", owner, 0))
        for unit in self.problem.owners[owner].units:
            if unit not in self.gone:
                self.leave(unit)

    def serve(self, domain: int, way: Way) -> None:
        """The domain is to hold slices of the job: so much of its room is gone."""
        self.targets[domain] = way
        self._shift(domain, -self._claim(domain, way), serves=True)
        self._log.append(("serve", domain, 0))

    def lacks(self, domain: int) -> int:
        """Nodes that are still to be freed in a domain that serves."""
        return max(0, -self._room[1][domain])

    def _claim(self, domain: int, way: Way) -> int:
        here = self.problem.domains[domain]
        return here.slack - (here.free - way.need)

    def _shift(self, domain: int, nodes: int, *, serves: bool = False) -> None:
        """So many nodes more; what a domain serves with does not change what it must keep where small work comes."""
        for which in (1,) if serves else (0, 1):
            rooms, buckets = self._room[which], self._buckets[which]
            buckets[self._place(rooms[domain])] &= ~(1 << domain)
            rooms[domain] += nodes
            buckets[self._place(rooms[domain])] |= 1 << domain

    def _place(self, room: int) -> int:
        return min(max(0, room), len(self._buckets[0]) - 1)

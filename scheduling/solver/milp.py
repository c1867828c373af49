"""The question as a mixed-integer program.

Units that are alike (size, where they may be, whether below a slice) are one flow: it is decided which of them leave and how many of them
come to each domain, not who takes whose place. That is enough: where one leaves a domain that another of its kind comes to, it could have
stayed, at less cost. So there is a variable for each unit and one for each domain and kind, rather than one for each unit and domain.

Columns: `leaves` of each unit; `waits` and `pays` of owners that may wait or have several units; `comes` for each domain and kind; `serves`
for each way of each domain; `inside` for each area. Rows: each domain gives no more than it has (less where it serves); as many of a kind
come as leave and do not wait; the slices that are asked for are served; the lemma of `scheduling.domain.defrag.bounds` for each domain.

With a plan of cost C at hand only cheaper ones are asked for: ways, units and sizes that the lemma rules out get no column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from scheduling.domain.defrag.bounds import NEVER, SAFE
from scheduling.domain.defrag.model import Problem, Way
from scheduling.domain.defrag.ordering import Arrivals, Kind, kind_of
from scheduling.solver.highs import Answer, run
from scheduling.solver.program import INF, Program
from scheduling.solver.pruning import Offered, Pruned

#: Rank of one workload: more than the nodes of any plan.
WORKLOAD = 1 << 20


class Milp:
    """The program of one problem, and how to read its answers."""

    def __init__(
        self,
        problem: Problem,
        offered: Offered,
        below: int,
        *,
        cut: Sequence[frozenset[int]] = (),
        spared: frozenset[int] = frozenset(),
    ) -> None:
        """Only plans that cost less than `below`, in which no set of `cut` is what leaves, and not all domains of `spared` serve."""
        self.problem = problem
        self.program = Program()
        self._below = below
        self._charges = offered.charges
        self.serves: dict[tuple[int, Way], int] = {}
        self.leaves: dict[int, int] = {}
        self.waits: dict[int, int] = {}
        self.pays: dict[int, int] = {}
        self.comes: dict[tuple[int, Kind], int] = {}
        self._pruned = Pruned(problem, offered, below)
        self._offers = self._pruned.offers
        self._add_ways()
        self._add_units()
        self._add_owners()
        self._add_kinds()
        self._balance()
        self._demand()
        self._order_alike()
        self._limit()
        self._leave_out(cut, spared)
        self._charge()

    def run(self, seconds: float) -> Answer:
        """The cheapest of these plans, as far as it can be found in that time."""
        if not self._offers:
            return Answer(values=None, bound=self._below, proven=True)
        return run(self.program, self._below, seconds)

    def tidy(self, seconds: float) -> Answer:
        """Of these plans, whatever they cost, one with fewest workloads, then fewest nodes."""
        return run(self.program, self._below, seconds, ranked=True)

    # ---- columns

    def _add_ways(self) -> None:
        for offer in self._offers:
            self.serves[offer.domain, offer.way] = self.program.column(0, 1)

    def _add_units(self) -> None:
        for number, unit in enumerate(self.problem.units):
            if self._pruned.may_leave(number):
                self.leaves[number] = self.program.column(unit.cost, 1, self._rank(number))

    def _rank(self, number: int) -> int:
        """Its nodes, and the workloads; those of an owner of several units are counted with the owner."""
        unit = self.problem.units[number]
        alone = len(self.problem.owners[unit.owner].units) == 1
        return unit.size + (WORKLOAD * len(unit.pieces) if alone else 0)

    def _add_owners(self) -> None:
        for number, owner in enumerate(self.problem.owners):
            units = [unit for unit in owner.units if unit in self.leaves]
            own = sum(self.problem.units[unit].cost for unit in owner.units)
            if owner.wait is not None and owner.wait < self._below and len(units) == len(owner.units):
                self.waits[number] = self.program.column(owner.wait - own, 1, WORKLOAD if len(owner.units) > 1 else 0)
            if units and len(owner.units) > 1:
                self.pays[number] = self.program.column(owner.shared, 1, WORKLOAD)

    def _add_kinds(self) -> None:
        most: defaultdict[Kind, int] = defaultdict(int)
        for unit in self.leaves:
            most[kind_of(self.problem.units[unit])] += 1
        room: defaultdict[int, int] = defaultdict(int)
        for unit in self.leaves:
            room[self.problem.units[unit].domain] += self.problem.units[unit].frees
        for kind, count in sorted(most.items()):
            size, area, small = kind
            for domain, here in enumerate(self.problem.domains):
                slack = (here.small_slack if small else here.slack) + room[domain]
                fits = min(count, slack // size) if area >> domain & 1 else 0
                if fits > 0 and self._pruned.may_come(domain, size):
                    self.comes[domain, kind] = self.program.column(0, fits)

    # ---- rows

    def _balance(self) -> None:
        rooms: list[dict[int, float]] = [{} for _ in self.problem.domains]
        kinds: defaultdict[Kind, dict[int, float]] = defaultdict(dict)
        for (domain, kind), column in self.comes.items():
            rooms[domain][column] = kind[0]
            kinds[kind][column] = 1
        for number, column in self.leaves.items():
            unit = self.problem.units[number]
            rooms[unit.domain][column] = -unit.frees
            kinds[kind_of(unit)][column] = -1
            self._follow_owner(number, column, kinds)
        for (domain, way), column in self.serves.items():
            here = self.problem.domains[domain]
            rooms[domain][column] = here.slack - (here.free - way.need)
        for terms in kinds.values():
            self.program.row(0, 0, terms)
        self._keep_owed(rooms)
        for domain, here in enumerate(self.problem.domains):
            if rooms[domain]:
                self.program.row(-INF, here.slack, rooms[domain])

    def _keep_owed(self, rooms: list[dict[int, float]]) -> None:
        """Where work below a slice comes, the domain keeps the spares that it owes."""
        small: defaultdict[int, list[int]] = defaultdict(list)
        for (domain, kind), column in self.comes.items():
            if kind[2]:
                small[domain].append(column)
        serving = set(self.serves.values())
        for domain, columns in small.items():
            here = self.problem.domains[domain]
            if here.small_slack < here.slack:
                any_comes = self.program.column(0, 1)
                for column in columns:
                    self.program.row(-INF, 0, {column: 1, any_comes: -self.program.upper[column]})
                flow = {column: value for column, value in rooms[domain].items() if column not in serving}
                self.program.row(-INF, here.slack, {**flow, any_comes: here.slack - here.small_slack})

    def _follow_owner(self, number: int, column: int, kinds: dict[Kind, dict[int, float]]) -> None:
        unit = self.problem.units[number]
        waits, pays = self.waits.get(unit.owner), self.pays.get(unit.owner)
        if waits is not None:
            kinds[kind_of(unit)][waits] = kinds[kind_of(unit)].get(waits, 0) + 1
            self.program.row(0, INF, {column: 1, waits: -1})
        if pays is not None:
            self.program.row(0, INF, {pays: 1, column: -1, **({} if waits is None else {waits: 1})})

    def _demand(self) -> None:
        for place, count in enumerate(self.problem.counts):
            terms = {column: float(way.counts[place]) for (_, way), column in self.serves.items()}
            self.program.row(count, count, terms)
        domains: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for (domain, _), column in self.serves.items():
            domains[domain][column] = 1
        for terms in domains.values():
            if len(terms) > 1:
                self.program.row(-INF, 1, terms)
        self._use_lemma(domains)
        self._areas(domains)
        if self.problem.whole:
            self._empty(domains)

    def _use_lemma(self, domains: dict[int, dict[int, float]]) -> None:
        """What leaves a domain that serves costs as much as its bound; what is dear on top of the cheapest bound leaves no other."""
        costs: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for number, column in self.leaves.items():
            unit = self.problem.units[number]
            costs[unit.domain][column] = unit.cost
            if self._pruned.stays_where_none_serves(number):
                self.program.row(-INF, 0, {column: 1, **dict.fromkeys(domains[unit.domain], -1.0)})
        for offer in self._offers:
            costs[offer.domain][self.serves[offer.domain, offer.way]] = -offer.own
        for domain in domains:
            self.program.row(0, INF, costs[domain])

    def _empty(self, domains: dict[int, dict[int, float]]) -> None:
        """All leave a domain that has to be empty."""
        for number, unit in enumerate(self.problem.units):
            if unit.domain in domains:
                column = {self.leaves[number]: -1.0} if number in self.leaves else {}
                self.program.row(-INF, 0, {**domains[unit.domain], **column})

    def _areas(self, domains: dict[int, dict[int, float]]) -> None:
        if not self.problem.areas:
            return
        inside = [self.program.column(0, 1) for _ in self.problem.areas]
        self.program.row(1, 1, dict.fromkeys(inside, 1.0))
        for domain, terms in domains.items():
            areas = {inside[place]: -1.0 for place, area in enumerate(self.problem.areas) if area >> domain & 1}
            self.program.row(-INF, 0, {**terms, **areas})

    def _charge(self) -> None:
        """The lemma of `scheduling.domain.defrag.chains` for each domain: what leaves pays for what comes, and for serving."""
        rates = self._charges.rates
        leaving: list[dict[int, float]] = [{} for _ in self.problem.domains]
        coming: list[dict[int, int]] = [{} for _ in self.problem.domains]
        for number, column in self.leaves.items():
            unit = self.problem.units[number]
            fee = self._fee(unit.size)
            leaving[unit.domain][column] = unit.cost + fee
            if unit.owner in self.waits:
                waits = self.waits[unit.owner]
                leaving[unit.domain][waits] = leaving[unit.domain].get(waits, 0) - fee
        for (domain, kind), column in self.comes.items():
            coming[domain][column] = kind[0]
        for domain, terms in enumerate(leaving):
            local = {column: -nodes * rates[domain][nodes] for column, nodes in coming[domain].items()}
            if any(local.values()):
                self.program.row(-SAFE, INF, {**terms, **local})
        serving: defaultdict[int, dict[int, float]] = defaultdict(dict)
        for offer in self._offers:
            serving[offer.domain][self.serves[offer.domain, offer.way]] = -offer.charged
        for domain, terms in serving.items():
            paid = {column: -self._fee(nodes) for column, nodes in coming[domain].items()}
            self.program.row(-SAFE, INF, {**leaving[domain], **paid, **terms})

    def _fee(self, size: int) -> float:
        fee = self._charges.by_size[size]
        return fee if fee < NEVER else 0.0  # no such unit can come anywhere

    def _order_alike(self) -> None:
        """Of units of a domain that are alike in all but their price the cheaper one leaves first."""
        alike: defaultdict[tuple[int, Kind, int], list[int]] = defaultdict(list)
        for number in self.leaves:
            unit = self.problem.units[number]
            if len(self.problem.owners[unit.owner].units) == 1 and self.problem.owners[unit.owner].wait is None:
                alike[unit.domain, kind_of(unit), unit.frees].append(number)
        for numbers in alike.values():
            numbers.sort(key=lambda number: (self.problem.units[number].cost, len(self.problem.units[number].pieces), number))
            for first, second in pairwise(numbers):
                pieces = [len(self.problem.units[number].pieces) for number in (first, second)]
                if pieces[0] <= pieces[1]:
                    self.program.row(0, INF, {self.leaves[first]: 1, self.leaves[second]: -1})

    def _limit(self) -> None:
        if self.problem.most_moves is None:
            return
        terms: dict[int, float] = {}
        for number, column in self.leaves.items():
            unit = self.problem.units[number]
            if unit.owner not in self.pays:
                terms[column] = len(unit.pieces)
        for owner, column in self.pays.items():
            terms[column] = 1
            if owner in self.waits:
                terms[self.waits[owner]] = 1
        self.program.row(-INF, self.problem.most_moves, terms)

    def _leave_out(self, cut: Sequence[frozenset[int]], spared: frozenset[int]) -> None:
        for units in cut:
            terms = {column: -1.0 if unit in units else 1.0 for unit, column in self.leaves.items()}
            self.program.row(1 - sum(value < 0 for value in terms.values()), INF, terms)
        if spared:
            serving = {column: 1.0 for (domain, _), column in self.serves.items() if domain in spared}
            self.program.row(-INF, len(spared) - 1, serving)

    # ---- answers

    def read(self, values: list[float]) -> tuple[list[int], Arrivals, list[int], list[tuple[int, Way]]]:
        """Units that leave and do not wait, arrivals, owners that wait, and domains that serve."""
        waits = [owner for owner, column in self.waits.items() if values[column] > 0.5]
        stopped = {unit for owner in waits for unit in self.problem.owners[owner].units}
        leaving = [unit for unit, column in self.leaves.items() if values[column] > 0.5 and unit not in stopped]
        arrivals = {key: round(values[column]) for key, column in self.comes.items() if values[column] > 0.5}
        targets = sorted(((domain, way) for (domain, way), column in self.serves.items() if values[column] > 0.5), key=lambda item: item[0])
        return leaving, arrivals, waits, targets

"""Placement against a judge that tries every way: what it refuses cannot be placed, and what it chooses is the best by the order of choice.

The judge shares no code with placement. It counts nodes in sets and prices each way to spread the slices from the definitions alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.slices import slice_sizes
from clusters.domain.space import Space
from clusters.domain.topology import Site, build_topology
from scheduling.domain.placement import Placement, place
from scheduling.domain.refusals import CAPACITY, INFEASIBLE, TOPOLOGY
from tests.support.world import ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One domain as drawn: a letter for each node, and the spares that slices there want."""

    name: str
    block: str
    nodes: str  # f free, o free repeat offender, d free degraded, x in use
    wants: tuple[int | None, ...]

    @property
    def free(self) -> int:
        return len(self.nodes) - self.nodes.count("x")


@st.composite
def domains(draw: st.DrawFn) -> list[Domain]:
    names = [f"d{number}" for number in range(1, draw(st.integers(1, 5)) + 1)]
    wants = st.lists(st.sampled_from([None, 0, 1, 3]), max_size=2).map(tuple)
    return [
        Domain(name=name, block=draw(st.sampled_from("ab")), nodes=draw(st.text("fffodx", min_size=1, max_size=7)), wants=draw(wants))
        for name in names
    ]


policies = st.builds(
    lambda size, spares, scope: Policy(slice_size=size, target_spares=spares[0], min_spares=spares[1], spares_scope=scope),
    st.integers(1, 6),
    st.sampled_from([(0, 0), (1, 0), (2, 0), (2, 1), (3, 2)]),
    st.sampled_from(SparesScope),
)

requests = st.builds(
    lambda nodes, unit, spares, tail: ask(nodes, slice_size=unit, spares=spares, tail=tail),
    st.integers(1, 14),
    st.sampled_from([None, None, 2, 3]),
    st.sampled_from([None, None, 0, 2]),
    st.booleans(),
)


def build(drawn: Sequence[Domain]) -> Space:
    sites = [
        Site(name=f"{domain.name}-n{node}", block=domain.block, rack=domain.name, domain=domain.name, gpus=4)
        for domain in drawn
        for node in range(1, len(domain.nodes) + 1)
    ]
    space = Space(build_topology(sites))
    for domain in drawn:
        for node, letter in enumerate(domain.nodes, 1):
            index = space.topology.index[f"{domain.name}-n{node}"]
            space.set_placeable(index, placeable=True, degraded=letter == "d")
            if letter == "o":
                space.set_offender(index)
            if letter == "x":
                space.take(index)
        for spares in domain.wants:
            space.add_want(space.topology.domain_index[domain.name], spares)
    return space


class Judge:
    """What a request may have of each domain, by the definitions."""

    def __init__(self, drawn: Sequence[Domain], request: JobRequest, policy: Policy, sizes: Sequence[int]) -> None:
        nodes = request.nodes or 0
        own = policy.target_spares if request.spares is None else request.spares
        self.drawn = drawn
        self.sizes = sizes
        self.small = nodes < (policy.slice_size or 0)
        self.own = own if nodes > 1 else 0
        self.floor = policy.min_spares if nodes > 1 else 0
        self.policy = policy
        self.widest = max(len(domain.nodes) for domain in drawn)
        ordered = sorted(range(len(drawn)), key=lambda place_: (drawn[place_].block, drawn[place_].name))
        self.index = {place_: number for number, place_ in enumerate(ordered)}

    def owed(self, domain: Domain) -> int:
        wants = [self.policy.target_spares if want is None else want for want in domain.wants]
        if self.policy.spares_scope is SparesScope.ALL:
            wants.append(self.policy.target_spares)
        return min(self.widest, max(wants, default=0))

    def usable(self, domain: Domain) -> int:
        return domain.free - max(self.floor, min(domain.free, self.owed(domain)) if self.small else 0)

    def missing(self, domain: Domain, used: int) -> int:
        return max(0, max(min(self.own, self.widest), self.owed(domain)) - (domain.free - used))

    def ways(self) -> Iterator[dict[int, int]]:
        """Nodes used by domain, of each way to put the slices into domains."""
        for choice in product(range(len(self.drawn)), repeat=len(self.sizes)):
            used: dict[int, int] = {}
            for place_, size in zip(choice, self.sizes, strict=True):
                used[place_] = used.get(place_, 0) + size
            if all(nodes <= self.usable(self.drawn[place_]) for place_, nodes in used.items()):
                yield used

    def price(self, used: dict[int, int]) -> tuple[int, ...]:
        """By the order of choice; the first domain's index ends all ties of one slice."""
        flawed = [self.flaws(self.drawn[place_], nodes) for place_, nodes in used.items()]
        return (
            max(self.missing(self.drawn[place_], nodes) for place_, nodes in used.items()),
            len({self.drawn[place_].block for place_ in used}),
            len(used),
            sum(self.missing(self.drawn[place_], nodes) for place_, nodes in used.items()),
            sum(self.drawn[place_].free - nodes for place_, nodes in used.items()),
            sum(domain.free for domain in self.drawn if domain.block in {self.drawn[place_].block for place_ in used}),
            sum(degraded for degraded, _ in flawed),
            sum(offenders for _, offenders in flawed),
            min(self.index[place_] for place_ in used),
        )

    def flaws(self, domain: Domain, used: int) -> tuple[int, int]:
        free = [letter for letter in domain.nodes if letter != "x"]
        usable = free[: len(free) - (min(len(free), self.owed(domain)) if self.small else 0)]
        chosen = sorted(usable, key="fod".index)[:used]
        return chosen.count("d"), chosen.count("o")


def _used(drawn: Sequence[Domain], placement: Placement) -> dict[int, int]:
    names = [domain.name for domain in drawn]
    used: dict[int, int] = {}
    for part in placement:
        used[names.index(part.domain)] = used.get(names.index(part.domain), 0) + len(part.nodes)
    return used


@given(domains(), requests, policies)
def test_placement_finds_what_the_judge_finds(drawn: list[Domain], request: JobRequest, policy: Policy) -> None:
    outcome = place(build(drawn), request, policy)
    if isinstance(outcome, Refusal) and outcome.code == INFEASIBLE:
        assert request.slice_size
        assert (request.nodes or 0) % request.slice_size
        return
    sizes = slice_sizes(request, request.nodes or 0, policy.slice_size or 0)
    if len(sizes) > 5:
        return
    judge = Judge(drawn, request, policy, sizes)
    ways = list(judge.ways())
    if isinstance(outcome, Refusal):
        assert not ways
        enough = sum(max(0, judge.usable(domain)) for domain in drawn) >= sum(sizes)
        assert outcome.code == (TOPOLOGY if enough else CAPACITY)
        return
    assert [len(part.nodes) for part in outcome] == list(sizes)
    assert len({name for part in outcome for name in part.nodes}) == sum(sizes)
    used = _used(drawn, outcome)
    assert used in ways
    best = min(map(judge.price, ways))
    found = judge.price(used)
    if len(sizes) == 1:
        assert found == best
    assert found[0] == best[0]
    if len(set(sizes)) == 1:
        assert found[1] == best[1]
        assert found[1] > 1 or found[2] == best[2]


@given(domains(), requests, policies, st.randoms(use_true_random=False))
def test_the_order_of_the_inventory_does_not_matter(drawn: list[Domain], request: JobRequest, policy: Policy, random: object) -> None:
    shuffled = drawn.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert place(build(drawn), request, policy) == place(build(shuffled), request, policy)

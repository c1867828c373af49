"""Everything that a request may ask for, on small clusters of every make, held to what its words say.

What is placed breaks no condition; what is refused cannot be placed by trying every way; the same question has the same answer, whatever
the order of the inventory; asking changes nothing; and one more free node never does harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.constraints import JobPart, Layer, LevelMode, ParallelPlan
from clusters.domain.decision import Refusal
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import JobKind, JobRequest
from clusters.domain.policy import Policy
from clusters.domain.setting import SparesScope
from clusters.domain.space import Space
from scheduling.domain.placement import Placement, place
from scheduling.domain.refusals import CAPACITY, INFEASIBLE, explain
from tests.domain.scheduling.words import Cluster, Drawn, Rules, Seat, build, sizes_of

#: Ways to place the slices that are gone through.
MOST_WAYS = 20_000

KINDS = ["level", "layers", "parts", "plan", "gpus", "plain"]


@st.composite
def clusters(draw: st.DrawFn) -> list[Drawn]:
    count = draw(st.integers(1, 5))
    pairs = draw(st.booleans())  # two domains in a rack
    found = []
    for number in range(count):
        block = "ab"[number * 2 // count] if draw(st.booleans()) else "a"
        found.append(
            Drawn(
                name=f"d{number + 1}",
                rack=f"{block}{number // 2 if pairs else number}",
                block=block,
                nodes=draw(st.text("fffffffffodxsu", min_size=1, max_size=7)),
                wants=draw(st.sampled_from([(), (), (None,), (0, 3)])),
                closed=draw(st.integers(0, 9)) == 0,
            )
        )
    return found


policies = st.builds(
    lambda size, spares, scope: Policy(slice_size=size, target_spares=spares[0], min_spares=spares[1], spares_scope=scope),
    st.integers(1, 6),
    st.sampled_from([(0, 0), (1, 0), (2, 0), (2, 1), (3, 2)]),
    st.sampled_from(SparesScope),
)

levels = st.sampled_from(["block", "rack", "domain"])
modes = st.sampled_from(LevelMode)


@st.composite
def requests(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> JobRequest:
    """Of every kind that the words know."""
    kind = draw(st.sampled_from(kinds))
    fields: dict[str, Any] = {"exclusive": draw(st.integers(0, 6)) == 0, "spares": draw(st.sampled_from([None, 0, 1]))}
    if kind == "gpus":
        return _ask(gpus=draw(st.integers(1, 3)), **fields)
    unit = draw(st.sampled_from([None, None, 2, 3]))
    fields |= {"tail": draw(st.booleans()), "slice_size": unit}
    if kind == "layers":
        inner = draw(st.integers(1, 3)) * (unit or 1)
        outer = Layer(level=draw(st.sampled_from(["block", "rack"])), size=inner * draw(st.integers(1, 2)))
        layers = (outer,) if draw(st.booleans()) else (outer, Layer(level="rack" if outer.level == "block" else "domain", size=inner))
        nodes = layers[0].size * draw(st.integers(1, 2)) + (draw(st.integers(0, 3)) if fields["tail"] else 0)
        return _ask(nodes, layers=layers, level=draw(levels), mode=draw(modes), **fields)
    if kind == "parts":
        parts = tuple(
            JobPart(
                name=name, nodes=draw(st.integers(1, 6)), max_slice=draw(st.sampled_from([None, 3])), level=draw(levels), mode=draw(modes)
            )
            for name in ("trainer", "rollout", "judge")[: draw(st.integers(1, 3))]
        )
        return _ask(sum(part.nodes for part in parts), parts=parts, level=draw(levels), mode=draw(modes), **fields)
    if kind == "plan":
        plan = ParallelPlan(tp=draw(st.sampled_from([1, 2, 4, 6, 8])), ep=draw(st.sampled_from([1, 2])), dp=draw(st.integers(1, 4)))
        return _ask(max(1, plan.gpus // 4), plan=plan, **fields | {"slice_size": None})
    extra = {"level": draw(levels), "mode": draw(modes)} if kind == "level" else {}
    return _ask(draw(st.integers(1, 14)), **fields, **extra)


def _ask(nodes: int | None = None, **fields: Any) -> JobRequest:
    return JobRequest(name="work", kind=JobKind.TRAINING, nodes=nodes, **fields)


def _seats(cluster: Cluster, placement: Placement) -> list[Seat]:
    named = {drawn.name: drawn for drawn in cluster}
    return [(named[part.domain], len(part.nodes)) for part in placement]


def _compared(space: Space) -> list[object]:
    return [getattr(space, name) for name in Space.COMPARED]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_placed_breaks_no_condition_and_what_is_refused_cannot_be_placed(kind: str, data: st.DataObject) -> None:
    cluster, policy = data.draw(clusters()), data.draw(policies)
    request = data.draw(requests([kind]))
    space = build(cluster)
    before = [*map(repr, _compared(space))]
    outcome = place(space, request, policy)
    assert [*map(repr, _compared(space))] == before, "asking changed the space"
    rules = Rules(cluster, request, policy)
    if request.gpus:
        assert isinstance(outcome, Refusal) is not rules.has_gpus()
        return
    sizes = sizes_of(request, policy)
    assert (sizes is None) == (isinstance(outcome, Refusal) and outcome.code == INFEASIBLE)
    if isinstance(outcome, Refusal):
        assert explain(outcome)
        enough = sum(map(rules.usable, cluster)) >= (request.nodes or 0)
        assert sizes is None or (outcome.code == CAPACITY) is not enough
        assert sizes is None or len(cluster) ** len(sizes) > MOST_WAYS or not rules.feasible(sizes)
        return
    assert [len(part.nodes) for part in outcome] == sizes
    assert rules.broken(_seats(cluster, outcome)) == ""
    _nodes_are_free(space, outcome)
    if request.mode is LevelMode.PREFERRED and len(cluster) ** len(sizes) <= MOST_WAYS:
        strict = Rules(cluster, replace(request, mode=LevelMode.REQUIRED), policy)
        assert (strict.broken(_seats(cluster, outcome)) == "") == strict.feasible(sizes)
    if request.plan:
        ranks = [place_ for place_, part in enumerate(outcome) for _ in range(4 * len(part.nodes))]
        group = request.plan.group
        assert all(len(set(ranks[first : first + group])) == 1 for first in range(0, len(ranks), group))


def _nodes_are_free(space: Space, placement: Placement) -> None:
    names = [name for part in placement for name in part.nodes]
    assert len(set(names)) == len(names)
    for part in placement:
        for name in part.nodes:
            domain, bit = space.locate(space.topology.index[name])
            assert space.topology.domains[domain].name == part.domain
            assert space.free[domain] & bit


@given(clusters(), requests(), policies, st.integers())
def test_the_order_of_the_inventory_does_not_matter(cluster: list[Drawn], request: JobRequest, policy: Policy, seed: int) -> None:
    shuffled = Random(seed).sample(cluster, len(cluster))
    assert place(build(cluster), request, policy) == place(build(shuffled), request, policy)


@given(clusters(), requests(), policies, st.integers(0, 40))
def test_one_more_free_node_never_turns_placed_into_refused(cluster: list[Drawn], request: JobRequest, policy: Policy, number: int) -> None:
    taken = [(place_, node) for place_, drawn in enumerate(cluster) for node, letter in enumerate(drawn.nodes) if letter in "xsu"]
    if not taken or isinstance(place(build(cluster), request, policy), Refusal):
        return
    place_, node = taken[number % len(taken)]
    nodes = cluster[place_].nodes
    freed = [*cluster]
    freed[place_] = replace(cluster[place_], nodes=f"{nodes[:node]}f{nodes[node + 1 :]}")
    if request.gpus and nodes[node] == "s":
        return  # a node that was shared is whole again: that is one place more only where spares are not owed
    assert not isinstance(place(build(freed), request, policy), Refusal)


@given(st.integers(1, 40), st.integers(1, 40))
def test_layers_that_do_not_divide_each_other_are_no_request(outer: int, inner: int) -> None:
    layers = (Layer(level="block", size=outer), Layer(level="rack", size=inner))
    if outer % inner:
        with pytest.raises(InvalidRequest, match=r"layers\[0\]\.size"):
            _ask(outer, layers=layers)
    else:
        assert _ask(outer, layers=layers).layers == layers

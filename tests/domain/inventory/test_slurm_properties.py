"""Whatever Slurm is said to have said: an inventory or named problems; and the same again changes nothing."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.errors import InvalidRequest
from clusters.inventory.export import native_yaml
from clusters.inventory.names import fold
from clusters.inventory.slurm_nodes import QUIET, STATE_FLAGS, TOLD
from clusters.inventory.slurm_topology import expand_hosts, read_topology
from tests.domain.inventory.files import Cluster, read
from tests.domain.inventory.slurm_files import slurm_answer, slurm_node, take_slurm, with_topology

STATES = st.lists(st.sampled_from(sorted({*STATE_FLAGS, *QUIET, *TOLD, "FUTURE", "NEW"})), min_size=1, max_size=3)
GRES = st.sampled_from(("gpu:gb200:4", "gpu:gb200:4(S:0-1),nvme:1", "gpu:4", "gpu:h100:8", "gpu:8", ""))
NAMES = tuple(f"n{number}" for number in range(1, 9))


@st.composite
def nodes(draw: st.DrawFn) -> list[dict[str, Any]]:
    chosen = draw(st.sets(st.sampled_from(NAMES)))
    items = [slurm_node(name, *draw(STATES), gres=draw(GRES), reason=draw(st.sampled_from(("", "fan")))) for name in sorted(chosen)]
    return [slurm_node("n0"), *items]


@st.composite
def topologies(draw: st.DrawFn) -> str | None:
    """None, or each node in at most one of four racks, in any order and aggregation."""
    if draw(st.booleans()):
        return None
    racks: dict[str, list[str]] = {}
    for name in ("n0", *NAMES):
        rack = draw(st.sampled_from(("r1", "r2", "r3", "r4", "")))
        racks.setdefault(rack, []).append(name)
    racks.pop("", None)
    order = draw(st.permutations(sorted(racks)))
    lines = [f"BlockName={rack} Nodes={','.join(fold(racks[rack]))}" for rack in order]
    return "\n".join([*lines, f"BlockSizes={draw(st.sampled_from(('1', '1,2', '1,2,4')))}", ""])


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(("gpu:1", "IDLE", "n[1-3]", "r1")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("name", "state", "gres", "topology", "block", "blocks", "tree", "nodes")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(JUNK | nodes().map(lambda items: items[-1]), min_size=1, max_size=4), JUNK)
@settings(max_examples=150)
def test_any_answer_is_an_inventory_or_named_problems(items: list[object], topology: object) -> None:
    inventory = read(slurm_answer(items), options=with_topology(json.dumps([topology])))
    assert inventory.refused != bool(inventory.nodes)
    assert all(problem.message for problem in inventory.problems)


@given(st.lists(st.tuples(nodes(), topologies()), min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_importing_the_same_again_in_any_order_appends_nothing(history: list[tuple[list[dict[str, Any]], str | None]], random: Any) -> None:
    cluster = Cluster()
    for items, topology in history:
        take_slurm(cluster, items, topology)
        assert take_slurm(cluster, random.sample(items, len(items)), topology) == []
        inventory = read(slurm_answer(items), cluster.known, with_topology(topology))
        assert {node.rack for node in inventory.nodes} == {rack.name for rack in inventory.racks}
        assert all(bool(node.problem) == (node.domain is None) for node in inventory.nodes)


@given(st.lists(st.tuples(nodes(), topologies()), min_size=1, max_size=3))
@settings(max_examples=100)
def test_an_export_appends_nothing_and_makes_the_same_nodes_elsewhere(history: list[tuple[list[dict[str, Any]], str | None]]) -> None:
    cluster = Cluster()
    for items, topology in history:
        take_slurm(cluster, items, topology)
    text = native_yaml(cluster.known)
    assert cluster.take(text) == []
    elsewhere = Cluster()
    elsewhere.take(text)
    assert elsewhere.known.nodes == {name: node for name, node in cluster.known.nodes.items() if not node.absent}


@given(st.sets(st.builds("{}{:0{}d}".format, st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 3)), min_size=1))
def test_folded_names_are_a_hostlist_of_the_same_names(names: set[str]) -> None:
    assert set(expand_hosts(",".join(fold(names)))) == names


@given(st.text(alphabet="n1-2[],x ", max_size=12))
def test_any_hostlist_is_names_or_refused(text: str) -> None:
    names = None
    with suppress(InvalidRequest):
        names = expand_hosts(text)
    assert names is None or (names and not set("[], ") & set("".join(names)))


@given(st.text(max_size=80) | st.text(alphabet="BlockName=rNodes=a[1-2] \n#\\", max_size=60).map("BlockName=".__add__))
@settings(max_examples=200)
def test_any_text_is_a_topology_or_named_problems(text: str) -> None:
    topology = read_topology(text.encode("utf-8", "replace"))
    assert topology.places or topology.problems or "=" in text

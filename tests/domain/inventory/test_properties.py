"""Whatever nodes are given: an inventory or named problems, never an exception; and the same again changes nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.inventory.delta import delta
from clusters.inventory.export import native_yaml
from clusters.inventory.labels import BLOCK_LABELS, PLACE_LABELS, RACK_LABELS, TOPOGRAPH_LABELS
from clusters.inventory.model import Known, Options
from tests.domain.inventory.files import Cluster, fabric, node, node_list, read

CLIQUE = "nvidia.com/gpu.clique"
OPTIONS = st.sampled_from((Options(), Options(rack_label="own"), Options(domain_label="own"), Options(rack_label=RACK_LABELS[2])))

PLACES = st.dictionaries(
    st.sampled_from((*RACK_LABELS[:3], TOPOGRAPH_LABELS[0], BLOCK_LABELS[1], "own")),
    st.sampled_from(("x", "y", "b1", fabric(1)[:-2])),
    max_size=3,
)
CLIQUES = st.none() | st.sampled_from((fabric(1), fabric(1, 2), fabric(2), fabric(3), "00000000-0000-0000-0000-000000000000.0", "odd"))
PRODUCTS = st.none() | st.sampled_from(("NVIDIA-GB200", "NVIDIA-H100-80GB-HBM3"))
TAINTS = st.lists(
    st.builds(
        lambda key, effect: {"key": key, "effect": effect},
        st.sampled_from(("nvidia.com/gpu-error", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready", "x")),
        st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule")),
    ),
    max_size=2,
)


@st.composite
def nodes(draw: st.DrawFn, count: int = 8) -> list[dict[str, Any]]:
    """Nodes as clusters have them, from few names so that racks, fabrics and blocks meet."""
    items = []
    for name in draw(st.sets(st.integers(1, count), min_size=1)):
        labels = draw(PLACES)
        labels |= {key: value for key, value in ((CLIQUE, draw(CLIQUES)), ("nvidia.com/gpu.product", draw(PRODUCTS))) if value}
        labels |= draw(st.sampled_from(({}, {"nvidia.com/gpu.count": "4"}, {"dgxc.nvidia.com/nvsentinel-state": "draining"})))
        ready = draw(st.sampled_from(("True", "True", "False", "Unknown", None)))
        gpus = draw(st.sampled_from((4, 4, 8, 0, None)))
        item = node(f"n{name}", labels, ready=ready, taints=draw(TAINTS), cordoned=draw(st.booleans()), gpus=gpus)
        items.append(item)
    return [node("n0"), *items]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(("Node", "List", "NodeList", "v1", "racks")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("kind", "items", "metadata", "name", "racks", "nodes", "x")), inner, max_size=3)
    ),
    max_leaves=8,
)


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        found += paths(inner, (*path, key))
    return found


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """A list of nodes in which a few values, anywhere, are something else."""
    document: Any = {"kind": draw(st.sampled_from(("List", "NodeList"))), "apiVersion": "v1", "items": draw(nodes(count=3))}
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(paths(document) or [("kind",)]))
        place = document
        for key in path:
            place = place[key]
        place[last] = draw(JUNK)
    return json.dumps(document).encode()


@given(spoiled(), OPTIONS)
@settings(max_examples=150)
def test_spoiled_nodes_are_an_inventory_or_named_problems(content: bytes, options: Options) -> None:
    inventory = read(content, Known(), options)
    assert inventory.refused != bool(inventory.nodes)
    assert all(problem.message for problem in inventory.problems)
    assert {node.rack for node in inventory.nodes} == {rack.name for rack in inventory.racks}
    assert all(bool(node.problem) == (node.domain is None) for node in inventory.nodes)


@given(
    JUNK
    | st.fixed_dictionaries({"racks": JUNK})
    | st.fixed_dictionaries(
        {"racks": st.lists(st.fixed_dictionaries({"name": JUNK, "nodes": JUNK, "gpus": JUNK}), max_size=3), "states": JUNK}
    )
)
@settings(max_examples=150)
def test_any_document_is_an_inventory_or_named_problems(document: object) -> None:
    inventory = read(json.dumps(document))
    assert inventory.refused != bool(inventory.nodes)


@given(st.lists(nodes(), min_size=1, max_size=4), OPTIONS, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_importing_the_same_again_in_any_order_appends_nothing(history: list[list[dict[str, Any]]], options: Options, random: Any) -> None:
    cluster = Cluster()
    for items in history:
        cluster.take_nodes(items, options)
        shuffled = random.sample(items, len(items))
        assert cluster.take_nodes(shuffled, options) == []


@given(nodes(), nodes(), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_the_order_of_the_file_changes_nothing(first: list[dict[str, Any]], second: list[dict[str, Any]], random: Any) -> None:
    cluster = Cluster()
    cluster.take_nodes(first)
    straight = read(node_list(second), cluster.known)
    shuffled = read(node_list(random.sample(second, len(second))), cluster.known)
    assert (straight.nodes, straight.racks) == (shuffled.nodes, shuffled.racks)


@given(st.lists(nodes(), min_size=1, max_size=3))
@settings(max_examples=80)
def test_an_export_appends_nothing_and_makes_the_same_cluster_elsewhere(history: list[list[dict[str, Any]]]) -> None:
    cluster = Cluster()
    for items in history:
        cluster.take_nodes(items)
    text = native_yaml(cluster.known)
    assert cluster.take(text) == []
    elsewhere = Cluster()
    elsewhere.take(text)
    assert native_yaml(elsewhere.known) == text
    present = {name: node for name, node in cluster.known.nodes.items() if not node.absent}
    assert elsewhere.known.nodes == present


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_text_told_by_a_node_survives_export(message: str, reason: str) -> None:
    item = node("n1", ready="False")
    item["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": reason, "message": message}]  # type: ignore[index]
    cluster = Cluster()
    cluster.take_nodes([item])
    assert cluster.take(native_yaml(cluster.known)) == []


def test_the_labels_that_are_read_are_those_that_are_listed() -> None:
    assert {*RACK_LABELS, *TOPOGRAPH_LABELS, *BLOCK_LABELS, CLIQUE} == PLACE_LABELS
    assert delta(Known(), read(node_list([node("n1")]))) != []

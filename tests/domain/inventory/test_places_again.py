"""What places of Kubernetes nodes keep when the same cluster is imported again."""

from __future__ import annotations

from clusters.domain.inventory_events import NodeChanged, NodeRegistered
from clusters.inventory.model import Options
from tests.domain.inventory.files import Cluster, fabric, hgx, node, tray
from tests.domain.inventory.test_places import BLOCK, CLIQUE, PRODUCT, RACK, ULTRA, uuid


def rack_of(items: list[dict[str, object]], *later: list[dict[str, object]]) -> dict[str, str]:
    cluster = Cluster()
    for content in (items, *later):
        cluster.take_nodes(content)
        assert cluster.take_nodes(content) == []
    return cluster.racks()


def trays(count: int, number: int, labels: dict[str, str], *, rack: str = "a") -> list[dict[str, object]]:
    return [tray(f"{rack}{n:02d}", number, labels) for n in range(count)]


def test_a_better_label_that_appears_later_does_not_rename_the_rack() -> None:
    racks = rack_of(trays(4, 1, {}), trays(4, 1, {ULTRA: "us-1"}))
    assert set(racks.values()) == {uuid(1)}


def test_a_new_node_joins_its_mates_under_the_name_they_have() -> None:
    racks = rack_of(trays(4, 1, {}), trays(5, 1, {ULTRA: "us-1"}))
    assert set(racks.values()) == {uuid(1)}
    racks = rack_of(trays(4, 1, {ULTRA: "us-1"}), [*trays(4, 1, {ULTRA: "us-1"}), tray("b01", 1)])
    assert set(racks.values()) == {"us-1"}
    racks = rack_of([*trays(4, 1, {ULTRA: "us-1"}), tray("b01", 1)])
    assert set(racks.values()) == {"us-1"}


def test_a_fabric_that_was_set_up_anew_keeps_its_rack_and_changes_the_domain() -> None:
    cluster = Cluster()
    cluster.take_nodes(trays(4, 1, {}))
    half = [*trays(2, 7, {}), *trays(4, 1, {})[2:]]
    events = cluster.take_nodes(half)
    assert [(event.node, event.rack, event.domain) for event in events if isinstance(event, NodeChanged)] == [
        ("a00", uuid(1), fabric(7)),
        ("a01", uuid(1), fabric(7)),
    ]
    cluster.take_nodes(trays(4, 7, {}))
    assert set(cluster.racks().values()) == {uuid(1)}
    assert {found.domain for found in cluster.state.nodes.values()} == {fabric(7)}


def test_a_node_put_into_another_rack_moves_there() -> None:
    labelled = rack_of(
        [*trays(3, 1, {ULTRA: "us-1"}), *trays(3, 2, {ULTRA: "us-2"}, rack="b")],
        [*trays(2, 1, {ULTRA: "us-1"}), tray("a02", 2, {ULTRA: "us-2"}), *trays(3, 2, {ULTRA: "us-2"}, rack="b")],
    )
    assert labelled["a02"] == "us-2"
    bare = rack_of(
        [*trays(3, 1, {}), *trays(3, 2, {}, rack="b")],
        [*trays(2, 1, {}), tray("a02", 2), *trays(3, 2, {}, rack="b")],
    )
    assert bare["a02"] == uuid(2)


def test_a_label_that_says_otherwise_renames() -> None:
    assert set(rack_of(trays(3, 1, {RACK: "r1"}), trays(3, 1, {RACK: "r9"})).values()) == {"r9"}


def test_the_named_label_is_taken_as_it_stands() -> None:
    cluster = Cluster()
    cluster.take_nodes(trays(3, 1, {ULTRA: "us-1", "own": "r1"}))
    cluster.take_nodes(trays(3, 1, {ULTRA: "us-1", "own": "r1"}), Options(rack_label="own"))
    assert set(cluster.racks().values()) == {"r1"}


def test_a_node_that_lost_its_labels_with_its_connection_keeps_rack_and_domain() -> None:
    cluster = Cluster()
    cluster.take_nodes(trays(3, 1, {ULTRA: "us-1"}))
    gone_quiet = [*trays(2, 1, {ULTRA: "us-1"}), node("a02", ready="Unknown", gpus=None)]
    events = cluster.take_nodes(gone_quiet)
    found = cluster.state.nodes["a02"]
    assert (found.rack, found.domain, found.gpus, found.problem) == ("us-1", fabric(1), 4, "")
    assert found.condition.value == "unknown"
    assert [type(event).__name__ for event in events] == ["NodeChanged", "NodeUnreachable", "NodeSuspected"]


def test_a_ready_node_that_lost_its_clique_keeps_its_rack_and_is_a_data_error() -> None:
    cluster = Cluster()
    cluster.take_nodes(trays(3, 1, {ULTRA: "us-1"}))
    cluster.take_nodes([*trays(2, 1, {ULTRA: "us-1"}), node("a02", {PRODUCT: "NVIDIA-GB200"})])
    found = cluster.state.nodes["a02"]
    assert (found.rack, found.domain, found.placeable) == ("us-1", None, False)
    assert found.problem


def test_a_whole_rack_that_lost_all_its_labels_is_no_heap_of_single_servers() -> None:
    cluster = Cluster()
    cluster.take_nodes([node(f"n{n}", {CLIQUE: fabric(1)}) for n in range(3)])
    bare = [node(f"n{n}") for n in range(3)]
    cluster.take_nodes(bare)
    assert {found.domain for found in cluster.state.nodes.values()} == {None}
    assert [rack.switch_trays for rack in cluster.state.racks.values()] == [9]
    assert cluster.take_nodes(bare) == []


def test_a_rack_keeps_its_place_while_its_nodes_are_away() -> None:
    cluster = Cluster()
    everything = [*trays(3, 1, {}), *trays(3, 2, {}, rack="b")]
    cluster.take_nodes([{**item} for item in everything])
    events = cluster.take_nodes(trays(3, 1, {}))
    assert [type(event).__name__ for event in events] == ["NodeAbsent"] * 3
    assert uuid(2) in cluster.state.racks
    new = tray("c01", 2)  # the first to be seen again is a new one
    events = cluster.take_nodes([*trays(3, 1, {}), new])
    assert [(event.node, event.rack) for event in events if isinstance(event, NodeRegistered)] == [("c01", uuid(2))]
    assert len(cluster.take_nodes([*everything, new])) == 3


def test_nodes_drawn_with_their_block_move_once_something_better_is_known() -> None:
    racks = rack_of([node("n1", {PRODUCT: "NVIDIA-GB200", BLOCK: "b1"})], [tray("n1", 1, {BLOCK: "b1"})])
    assert racks == {"n1": uuid(1)}
    assert rack_of([hgx("h1", {BLOCK: "b1"})], [hgx("h1", {BLOCK: "b2"})]) == {"h1": "block:b2"}
    assert rack_of([hgx("h1", {BLOCK: "b1"})], [hgx("h1")]) == {"h1": "block:b1"}


def test_a_rack_keeps_its_block_while_any_node_names_it() -> None:
    cluster = Cluster()
    cluster.take_nodes(trays(3, 1, {BLOCK: "b1"}))
    cluster.take_nodes([*trays(1, 1, {BLOCK: "b1"}), *trays(3, 1, {BLOCK: "b2"})[1:]])
    assert cluster.state.racks[uuid(1)].block == "b1"
    cluster.take_nodes(trays(3, 1, {}))
    assert cluster.state.racks[uuid(1)].block == "b1"
    cluster.take_nodes(trays(3, 1, {BLOCK: "b2"}))
    assert cluster.state.racks[uuid(1)].block == "b2"


def test_racks_that_share_a_fabric_keep_their_nodes_when_labels_get_lost() -> None:
    labelled = [tray(f"n{n:02d}", 1, {RACK: f"r{n // 9}"}) for n in range(18)]
    lost = [*labelled[:9], *(tray(f"n{n:02d}", 1) for n in range(9, 17))]  # the second rack has fewer nodes left
    racks = rack_of(labelled, lost)
    assert [racks[f"n{n:02d}"] for n in range(18)] == ["r0"] * 9 + ["r1"] * 9


def test_a_new_node_finds_the_rack_of_its_fabric_though_all_others_are_away() -> None:
    racks = rack_of([*trays(2, 1, {ULTRA: "us-1"}), tray("b01", 2)], [tray("a09", 1), tray("b01", 2)])
    assert racks["a09"] == "us-1"


def test_a_rack_that_only_one_old_node_is_left_of_settles_in_one_import() -> None:
    """The labels of the new nodes name another rack than the fabric's only known node has: rack_of asserts that nothing moves later."""
    racks = rack_of([node("n5", {ULTRA: "x"})], [tray("n5", 1), tray("n6", 1), tray("n7", 1, {ULTRA: "b1"})])
    assert set(racks.values()) == {"b1"}


def test_a_node_of_a_real_rack_is_not_drawn_with_its_block_once_it_lost_the_label() -> None:
    assert rack_of([hgx("h1", {RACK: "r1", BLOCK: "b1"})], [hgx("h1", {BLOCK: "b1"})]) == {"h1": "r1"}


def test_an_all_zero_fabric_is_believed_even_of_a_node_that_is_out_of_reach() -> None:
    cluster = Cluster()
    cluster.take_nodes(trays(2, 1, {ULTRA: "us-1"}))
    zero = tray("a01", 1, {ULTRA: "us-1", CLIQUE: "00000000-0000-0000-0000-000000000000.0"}, ready="Unknown")
    cluster.take_nodes([*trays(1, 1, {ULTRA: "us-1"}), zero])
    assert cluster.state.nodes["a01"].domain is None


def test_a_server_that_a_wrong_label_put_among_trays_is_well_again_once_the_label_is() -> None:
    cluster = Cluster()
    cluster.take_nodes([tray("n1", 1, {RACK: "r1"}), hgx("h1", {RACK: "r1"})])
    assert cluster.state.nodes["h1"].domain is None
    cluster.take_nodes([tray("n1", 1, {RACK: "r1"}), hgx("h1", {RACK: "r2"})])
    assert (cluster.state.nodes["h1"].domain, cluster.state.nodes["h1"].problem) == ("h1", "")

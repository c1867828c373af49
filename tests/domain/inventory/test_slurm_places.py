"""Where Slurm nodes are: the rack, block and domain of each, kept once given."""

from __future__ import annotations

from clusters.domain.inventory_events import NodeAbsent, RackRegistered
from clusters.inventory.export import native_yaml
from clusters.inventory.model import Options
from clusters.inventory.slurm import NO_BLOCK, NO_FILE, ONLY_TREE
from tests.domain.inventory.files import Cluster, messages, node_list, read, tray
from tests.domain.inventory.slurm_files import TWO_RACKS, racks_of, read_slurm, slurm_answer, slurm_node, take_slurm
from tests.support.shared import shared_path

SIX = [f"{rack}{number}" for rack in "ab" for number in (1, 2, 3)]


def row(*racks: int) -> str:
    """Racks of one node in aggregates of two."""
    return "".join(f"BlockName=r{rack} Nodes=n{rack}\n" for rack in racks) + "BlockSizes=1,2\n"


def blocks(cluster: Cluster) -> dict[str, str]:
    return {name: rack.block for name, rack in cluster.state.racks.items()}


def test_a_block_is_a_rack_and_a_domain() -> None:
    inventory = read_slurm(racks_of(SIX), TWO_RACKS)
    assert [(node.name, node.rack, node.domain) for node in inventory.nodes][::3] == [("a1", "r1", "r1"), ("b1", "r2", "r2")]
    assert [(rack.name, rack.block, rack.switch_trays) for rack in inventory.racks] == [("r1", "default", 9), ("r2", "default", 9)]
    assert inventory.problems == ()


def test_the_reference_topology_makes_eight_racks_of_one_block() -> None:
    names = [f"gb{rack:02d}-ct{tray:02d}" for rack in range(1, 9) for tray in range(1, 19)]
    for file in ("topology.yaml.nvl72-constructed", "topology.conf.nvl72-8racks-constructed"):
        text = shared_path("data", "formats", "slurm-topology", file).read_text()
        cluster = Cluster()
        take_slurm(cluster, racks_of(names), text)
        assert len(cluster.state.nodes) == 144
        assert set(blocks(cluster).values()) == {"from-rack01"}
        assert {node.domain for node in cluster.state.nodes.values()} == {f"rack{rack:02d}" for rack in range(1, 9)}
        assert take_slurm(cluster, racks_of(names), text) == []


def test_without_a_topology_rack_scale_nodes_are_a_named_problem() -> None:
    inventory = read_slurm([slurm_node("n1"), slurm_node("n2"), slurm_node("u1", gres="gpu:4"), slurm_node("h1", gres="gpu:h100:8")])
    assert {node.name: node.domain for node in inventory.nodes} == {"h1": "h1", "n1": None, "n2": None, "u1": None}
    assert {node.problem for node in inventory.nodes} == {"", NO_FILE}
    assert {node.rack for node in inventory.nodes} == {"block:default"}
    assert messages(inventory, fatal=False) == [f"n[1-2], u1: 3 nodes: {NO_FILE}"]


def test_a_node_is_rack_scale_by_its_features_or_machine_too() -> None:
    for more in ({"features": ["nvl72"]}, {"features": "ib,GB300"}, {"instance_type": "a4x-highgpu-4g"}):
        assert read_slurm([slurm_node("n1", gres="gpu:b200:4", **more)]).nodes[0].domain is None
    assert read_slurm([slurm_node("n1", gres="gpu:8")]).nodes[0].domain == "n1"


def test_a_node_in_no_block_is_a_named_problem() -> None:
    inventory = read_slurm([*racks_of(SIX), slurm_node("c1")], TWO_RACKS)
    assert messages(inventory, fatal=False) == [f"c1: 1 node: {NO_BLOCK}"]


def test_a_tree_draws_racks_but_places_only_hgx() -> None:
    tree = "SwitchName=top Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=n1\nSwitchName=leaf2 Nodes=h1\n"
    inventory = read_slurm([slurm_node("n1"), slurm_node("h1", gres="gpu:h100:8")], tree)
    assert [(node.name, node.rack, node.domain) for node in inventory.nodes] == [("n1", "leaf1", None), ("h1", "leaf2", "h1")]
    assert [(rack.name, rack.block, rack.switch_trays) for rack in inventory.racks] == [("leaf1", "top", 0), ("leaf2", "top", 0)]
    assert messages(inventory, fatal=False) == [f"n1: 1 node: {ONLY_TREE}"]


def test_hgx_nodes_of_a_block_have_no_switch_trays() -> None:
    inventory = read_slurm([slurm_node("h1", gres="gpu:h100:8")], "BlockName=su1 Nodes=h1")
    assert [(rack.name, rack.switch_trays) for rack in inventory.racks] == [("su1", 0)]
    assert inventory.nodes[0].domain == "su1"


def test_a_node_that_slurm_dropped_from_its_block_stays_where_it_was() -> None:
    cluster = Cluster()
    take_slurm(cluster, racks_of(SIX), TWO_RACKS)
    dropped = TWO_RACKS.replace("a[1-3]", "a[1-2]")
    assert take_slurm(cluster, racks_of(SIX), dropped) == []
    inventory = read_slurm(racks_of(SIX), dropped, cluster.known)
    kept = "1 node in no block of the topology any more: the rack and domain of earlier are kept"
    assert messages(inventory, fatal=False) == [f"topology file, a3: {kept}"]
    assert take_slurm(cluster, racks_of(SIX)) == []  # nor does it need the file again
    moved = TWO_RACKS.replace("a[1-3]", "a[1-2]").replace("b[1-3]", "b[1-3],a3")
    take_slurm(cluster, racks_of(SIX), moved)
    assert cluster.racks()["a3"] == "r2"


def test_nodes_of_the_topology_that_slurm_does_not_have_are_told_and_become_absent() -> None:
    cluster = Cluster()
    take_slurm(cluster, racks_of(SIX), TWO_RACKS)
    inventory = read_slurm(racks_of(SIX[:5]), TWO_RACKS, cluster.known)
    assert messages(inventory, fatal=False) == ["topology file, b3: 1 node in the topology, but not among Slurm's GPU nodes"]
    assert take_slurm(cluster, racks_of(SIX[:5]), TWO_RACKS) == [NodeAbsent(node="b3")]
    take_slurm(cluster, racks_of(SIX), TWO_RACKS)
    assert cluster.state.nodes["b3"].rack == "r2"


def test_racks_do_not_slip_into_other_blocks_while_one_is_away() -> None:
    cluster = Cluster()
    take_slurm(cluster, racks_of(["n1", "n2", "n3", "n4"]), row(1, 2, 3, 4))
    there = {"r1": "from-r1", "r2": "from-r1", "r3": "from-r3", "r4": "from-r3"}
    assert blocks(cluster) == there
    assert take_slurm(cluster, racks_of(["n2", "n3", "n4"]), row(2, 3, 4)) == [NodeAbsent(node="n1")]
    take_slurm(cluster, racks_of(["n2", "n3", "n4", "n5"]), row(2, 3, 4, 5))
    assert blocks(cluster) == there | {"r5": "from-r3"}
    assert take_slurm(cluster, racks_of(["n2", "n3", "n4", "n5"]), row(2, 3, 4, 5)) == []


def test_a_rack_that_all_nodes_have_left_is_not_missed() -> None:
    cluster = Cluster()
    take_slurm(cluster, racks_of(["n1", "n2"]), "BlockName=r2 Nodes=n2\nBlockName=r1 Nodes=n1\nBlockSizes=1,2\n")
    merged = "BlockName=r1 Nodes=n[1-2]\nBlockSizes=1,2\n"
    take_slurm(cluster, racks_of(["n1", "n2"]), merged)
    assert blocks(cluster)["r1"] == "from-r1"
    assert take_slurm(cluster, racks_of(["n1", "n2"]), merged) == []


def test_block_sizes_that_change_regroup_the_racks() -> None:
    cluster = Cluster()
    take_slurm(cluster, racks_of(["n1", "n2", "n3", "n4"]), row(1, 2, 3, 4))
    changed = take_slurm(cluster, racks_of(["n1", "n2", "n3", "n4"]), row(1, 2, 3, 4).replace("1,2", "1,4"))
    assert changed == [
        RackRegistered(rack="r3", block="from-r1", switch_trays=9),
        RackRegistered(rack="r4", block="from-r1", switch_trays=9),
    ]


def test_a_cluster_of_slurm_nodes_survives_export() -> None:
    cluster = Cluster()
    items = [*racks_of(SIX[:4]), slurm_node("b2", "DOWN", reason="fan"), slurm_node("c1"), slurm_node("h1", gres="gpu:h100:8")]
    take_slurm(cluster, items, TWO_RACKS)
    text = native_yaml(cluster.known)
    assert cluster.take(text) == []
    elsewhere = Cluster()
    elsewhere.take(text)
    assert elsewhere.known == cluster.known


def test_a_topology_file_belongs_to_slurm_nodes_only() -> None:
    options = Options(topology=TWO_RACKS.encode())
    for content in (node_list([tray("n1", 1)]), b"racks: [{name: r1, gpus: 4, nodes: n1}]"):
        (told,) = messages(read(content, options=options), fatal=True)
        assert told.startswith("topology file: a topology file goes with Slurm nodes, and these are none")


def test_a_bad_topology_file_refuses_the_nodes_and_labels_are_told_to_be_of_no_use() -> None:
    inventory = read_slurm(racks_of(SIX), "BlockName=r1 Nodes=a[1-\n")
    assert inventory.nodes == ()
    assert len(messages(inventory, fatal=True)) == 1
    labelled = read(slurm_answer(racks_of(["n1"])), options=Options(rack_label="x", topology=b"BlockName=r1 Nodes=n1"))
    assert messages(labelled, fatal=False) == ["x: Slurm nodes have no labels; name racks and domains in a topology file"]

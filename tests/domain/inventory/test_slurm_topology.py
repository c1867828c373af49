"""Slurm's topology files: racks, domains and blocks, and where they are wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from clusters.domain.errors import InvalidRequest
from clusters.inventory.slurm_topology import Topology, expand_hosts, read_topology
from tests.support.shared import shared_path


def reference(name: str) -> Topology:
    topology = read_topology(shared_path("data", "formats", "slurm-topology", name).read_bytes())
    assert topology.problems == ()
    return topology


def told(text: str) -> list[str]:
    return [str(problem) for problem in read_topology(text.encode()).problems if problem.fatal]


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("topology.conf.nvl72-8racks-constructed", {"from-rack01": 8}),
        ("topology.conf.nvl72-16of18-constructed", {"from-rack01": 8}),
        ("topology.yaml.nvl72-constructed", {"from-rack01": 8}),
    ],
)
def test_the_reference_racks_are_blocks_of_eighteen(name: str, blocks: dict[str, int]) -> None:
    topology = reference(name)
    assert Counter(place.domain for place in topology.places.values()) == {f"rack{rack:02d}": 18 for rack in range(1, 9)}
    assert all(place.rack == place.domain for place in topology.places.values())
    assert Counter(topology.blocks.values()) == blocks


def test_blocks_are_aggregated_in_the_order_of_the_file() -> None:
    topology = reference("topograph-expected-dra-block.conf")
    assert Counter(topology.blocks.values()) == {"from-rack11": 4, "from-rack31": 4, "from-rack51": 4}
    assert topology.blocks["rack22"] == "from-rack11"
    assert topology.blocks["rack62"] == "from-rack51"


def test_a_tree_draws_racks_and_tells_no_domains() -> None:
    topology = reference("topograph-expected-oci-tree.conf")
    assert topology.places["srv1101"].rack == "switch.1.1"
    assert {place.domain for place in topology.places.values()} == {None}
    assert topology.blocks["switch.1.12"] == "switch.2.6"


def test_of_several_topologies_blocks_come_first_and_the_default_before_the_others() -> None:
    text = """
    - topology: ib
      cluster_default: true
      tree: {switches: [{switch: top, children: "l[1-2]"}, {switch: l1, nodes: "a[1-2]"}, {switch: l2, nodes: "c[1-2]"}]}
    - topology: old
      block: {block_sizes: [2], blocks: [{block: r1, nodes: "a[1-2]"}, {block: r2, nodes: "b[1-2]"}]}
    - topology: new
      cluster_default: true
      block: {block_sizes: [2], blocks: [{block: r1, nodes: "a[2-3]"}]}
    """
    topology = read_topology(text.encode())
    assert topology.problems == ()
    assert {name: (place.rack, place.domain) for name, place in topology.places.items()} == {
        "a1": ("old.r1", "old.r1"),
        "a2": ("r1", "r1"),
        "a3": ("r1", "r1"),
        "b1": ("r2", "r2"),
        "b2": ("r2", "r2"),
        "c1": ("l2", None),
        "c2": ("l2", None),
    }


def test_conf_is_read_as_slurm_reads_it() -> None:
    text = "# racks\nBLOCKNAME=r1 nodes=a[1-2],b7 # of the first row\nblockname=r2 \\\n  Nodes=c[01-02]\n\nBlockSizes=2,4\n"
    topology = read_topology(text.encode())
    assert topology.problems == ()
    assert {name: place.rack for name, place in topology.places.items()} == {"a1": "r1", "a2": "r1", "b7": "r1", "c01": "r2", "c02": "r2"}
    assert topology.places["c01"].position == "topology file, line 3"
    assert topology.blocks == {"r1": "from-r1", "r2": "from-r1"}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("BlockName=r1 Nodes=a[1-3\n", ["topology file, line 1, r1: nodes 'a[1-3': give names and ranges like n[01-18,20]"]),
        ("BlockName=r1 Nodes=a[3-1]\n", ["topology file, line 1, r1: nodes 'a[3-1]': the range 3-1 runs backwards; give 1-3"]),
        ("\nBlockName=r1 Nodes=a[x]\n", ["topology file, line 2, r1: nodes 'a[x]': inside brackets give numbers"]),
        ("BlockName=r1 Nodes=a[1-999999999]\n", ["topology file, line 1, r1: nodes 'a[1-999999999]': give at most 200,000 nodes"]),
        (
            "BlockName=r1 Nodes=a1\nBlockName=r1 Nodes=a2\n",
            ["topology file, line 2, r1: this name is given at topology file, line 1 too; give each once"],
        ),
        ("BlockName=r1 Nodes=a1\nBlockName=r2 Nodes=a1\n", ["topology file, line 2, a1: this node is in r1 too, at topology file, line 1"]),
        ("BlockName=r/1 Nodes=a1\n", ["topology file, line 1: the name is the text 'r/1'; give letters"]),
        ("BlockName=r1 Nodes=a1\nBlockSizes=18,x\n", ["topology file, line 2: the block sizes are ['18', 'x']; give whole numbers"]),
        ("BlockName=r1 Nodes=a1\nBlockSizes=18,40\n", ["topology file, line 2: the block size 40 is no multiple of the smallest, 18"]),
        ("BlockName=r1 Nodes=a1\ninclude other.conf\n", ["topology file, line 2: this is 'include other.conf'; give BlockName="]),
        ("", ["topology file: the file is empty; give Slurm's topology.yaml"]),
        ("a: [", ["topology file, line 2, column 1: this is not valid YAML"]),
        ("{}", ["topology file: there is no topology in it; give Slurm's topology.yaml"]),
        ("- 7", ["topology file, topology 1: this is the number 7 without a name; give topology: NAME"]),
        (
            "- {topology: x, block: {blocks: 7}}",
            ["topology file, topology 1: blocks is the number 7; give a list"],
        ),
        (
            "- {topology: x, block: {block_sizes: [1], blocks: [7]}}",
            ["topology file, topology 1, block 1: this is the number 7; give a mapping"],
        ),
        ("- {topology: x, block: {block_sizes: [1], blocks: [{nodes: a1}]}}", ["topology file, topology 1, block 1: the name is missing"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, problems: list[str]) -> None:
    found = told(text)
    for wanted in problems:
        assert [message for message in found if message.startswith(wanted)], found


def test_a_flat_topology_tells_nothing_and_is_no_mistake() -> None:
    topology = read_topology(b"- topology: flat\n  flat: true\n")
    assert [str(problem) for problem in topology.problems] == [
        "topology file, flat: this topology is flat: it has neither block nor tree, and tells no racks"
    ]
    assert topology.places == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[01-03,20]", ["n01", "n02", "n03", "n20"]),
        ("n[1-2],m[08-09]x,k", ["n1", "n2", "m08x", "m09x", "k"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_hostlists_are_read_as_slurm_reads_them(text: str, names: list[str]) -> None:
    assert expand_hosts(text) == names


@pytest.mark.parametrize("text", ["n[1-2", "n1-2]", "n1,,n2", ",n1", "n1,", "n[[1]]", "n[]", "n[1-2]]", "n[-2]", "n 1", "[1-2]-"])
def test_a_hostlist_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        expand_hosts(text)

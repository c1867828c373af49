"""The guide tells the truth: its inventory is one, and it names every label that is read."""

from __future__ import annotations

import re

from clusters.inventory.conditions import SENTINEL
from clusters.inventory.labels import GPU_COUNT, PLACE_LABELS, REPLICAS
from clusters.inventory.native import STATES
from clusters.inventory.slurm_nodes import STATE_FLAGS, TOLD
from tests.domain.inventory.files import messages, read
from tests.support.shared import ROOT

GUIDE = (ROOT / "docs" / "guides" / "inventory.md").read_text(encoding="utf-8")


def test_the_inventory_of_the_guide_can_be_imported() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    inventory = read(example)
    assert messages(inventory, fatal=True) == []
    assert [rack.name for rack in inventory.racks] == ["hgx1", "r01", "r02", "r03", "r04"]
    assert {node.domain for node in inventory.nodes if node.rack in ("r03", "r04")} == {"pair-1"}


def test_the_guide_names_every_label_and_state_that_is_read() -> None:
    words = set(re.findall(r"`([^`\n]+)`", GUIDE))
    assert {*PLACE_LABELS, GPU_COUNT, REPLICAS, SENTINEL} <= words
    assert all(state in GUIDE for state in STATES)
    assert {*STATE_FLAGS, *TOLD} <= words

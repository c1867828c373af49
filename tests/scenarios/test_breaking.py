"""Whatever happens to a cluster, in whatever order and however late it is told: nothing contradicts anything, and the log proves itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.scenarios.breaking.__main__ import broken, shorten
from tests.scenarios.breaking.story import Story
from tests.support.faults import rounds
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow

TOLD = "from tests.scenarios.breaking.story import Story; print(Story({seed}).digest())"


@pytest.mark.parametrize("first", range(0, rounds(20, 4_000), 10))
def test_stories_of_anything_that_can_happen_leave_the_cluster_sound(first: int) -> None:
    for seed in range(first, first + 10):
        assert broken(seed) == "", f"shorter: python -m tests.scenarios.breaking {seed} 1"


def test_a_story_follows_from_its_seed_and_not_from_the_order_of_sets() -> None:
    def told(hashes: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hashes}
        command = [sys.executable, "-c", TOLD.format(seed=3)]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    assert told("1") == told("2") != ""


def test_what_breaks_is_found_and_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here somebody marks a node as used that nobody has."""

    def blame(self: Story) -> None:
        self.ground.shadow.space.take_mask(0, 1)

    monkeypatch.setattr(Story, "_checkpoint", blame)
    seed = next(seed for seed in range(20) if "dense state" in broken(seed))
    out, what = shorten(seed)
    kept = [name for place, name in enumerate(Story(seed).order) if place not in out]
    assert "dense state" in what
    assert "checkpoint" in kept
    assert len(kept) <= 3

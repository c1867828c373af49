"""Snapshots are made once for a position and say which one it is."""

from __future__ import annotations

import gzip
import json

import pytest

from clusters.domain.health_events import NodeFailed
from frontend.live.snapshots import Snapshots
from frontend.live.view import FleetView
from tests.integration.live.small import NAME, SmallCluster


def test_a_snapshot_is_made_once_for_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = SmallCluster()
    snapshots = Snapshots(cluster.log, NAME)
    first = snapshots.latest()
    monkeypatch.setattr(FleetView, "snapshot", lambda *_: pytest.fail("made again"))
    assert snapshots.latest() is first
    assert first.etag == f'"{first.epoch}-{cluster.log.head(NAME)}"'
    assert gzip.decompress(first.gzipped) == first.body


def test_the_next_position_has_a_snapshot_of_its_own() -> None:
    cluster = SmallCluster()
    snapshots = Snapshots(cluster.log, NAME)
    first = snapshots.latest()
    cluster.add(NodeFailed(node="r1-n1", reason="fatal"))
    second = snapshots.latest()
    assert (second.epoch, second.seq) == (first.epoch, first.seq + 1)
    assert json.loads(second.body)["counts"]["condition"]["failed"] == 1


def test_snapshot_and_hub_agree_on_the_epoch_whatever_process_they_run_in() -> None:
    cluster = SmallCluster()
    assert Snapshots(cluster.log, NAME).latest().epoch == Snapshots(cluster.log, NAME).latest().epoch
    assert Snapshots(cluster.log, NAME).latest().epoch != Snapshots(SmallCluster().log, NAME).latest().epoch

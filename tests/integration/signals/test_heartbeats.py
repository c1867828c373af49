"""Agents that fall silent: their nodes are out of reach, unless the silence is ours."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from clusters.domain.ids import SECOND
from clusters.domain.signals import Heard, SignalKind, standing
from clusters.eventlog.live import live
from clusters.signals.heartbeats import IN_ONE_GO, MOST_BETWEEN, beats_look, beats_note
from clusters.signals.model import Signal
from clusters.signals.models import AgentBeat
from tests.support.lab import NAME, NODES, make_lab

pytestmark = pytest.mark.django_db

NOW = 10**15
SILENT = NOW + 96 * SECOND  # three periods, the grace, and one second


@pytest.fixture(autouse=True)
def _cluster(db: None) -> None:
    make_lab()


def names(racks: int = 4) -> list[str]:
    return [f"r{rack}-n{node:02d}" for rack in range(1, racks + 1) for node in range(1, NODES + 1)]


def beat(*nodes: str, at: int = NOW, every: str = "30") -> None:
    beats_note(NAME, [Signal(node=node, code="heartbeat", kind=SignalKind.INFO, text=every) for node in nodes], at)


def look(at: int) -> None:
    beats_look([NAME], at, at - SECOND)


def heard(node: str) -> list[Heard]:
    return standing(live(NAME).catch_up().nodes[node].signals)


def test_a_node_whose_agent_falls_silent_is_out_of_reach_until_it_is_heard_again() -> None:
    beat(*names())
    beat(*names()[1:], at=SILENT)
    look(SILENT - 2 * SECOND)
    assert heard("r1-n01") == []
    look(SILENT)
    look(SILENT + SECOND)
    (said,) = heard("r1-n01")
    assert (said.kind, said.source, said.lasting) == (SignalKind.UNREACHABLE, "signal:(heartbeat)", True)
    assert heard("r1-n02") == []
    beat("r1-n01", at=SILENT + 2 * SECOND)
    look(SILENT + 3 * SECOND)
    assert heard("r1-n01") == []


def test_where_nobody_is_heard_at_all_the_trouble_is_here() -> None:
    beat(*names())
    look(SILENT)
    assert all(heard(node) == [] for node in names())


def test_many_that_fall_silent_in_one_go_are_no_fault_of_theirs_and_old_silence_is_no_sign() -> None:
    beat(*names())
    half = len(names()) // 2
    beat(*names()[half + 1 :], at=SILENT)
    look(SILENT)
    assert all(heard(node) == [] for node in names())
    later = SILENT + IN_ONE_GO
    beat(*names()[half + 1 :], at=later)
    look(later)
    assert [node for node in names() if heard(node)] == names()[: half + 1]


def test_silence_while_nobody_looked_counts_for_nothing() -> None:
    beat("r1-n01")
    beats_look([NAME], SILENT, SILENT - MOST_BETWEEN - 1)
    assert heard("r1-n01") == []
    look(SILENT + 95 * SECOND)
    assert heard("r1-n01") == []
    look(SILENT + 96 * SECOND)
    assert len(heard("r1-n01")) == 1


@pytest.mark.parametrize(("told", "every"), [("30", 30.0), ("0.001", 1.0), ("1e9", 600.0), ("nan", 600.0), ("soon", 600.0)])
def test_the_period_is_what_the_agent_says_within_reason(told: str, every: float) -> None:
    beat("r1-n01", every=told)
    assert AgentBeat.objects.get().every_s == every


def test_only_nodes_that_there_are_have_agents() -> None:
    beat("r9-n01")
    assert not AgentBeat.objects.exists()


def test_an_agent_that_was_removed_is_forgotten_with_what_its_silence_said() -> None:
    beat("r1-n01")
    look(SILENT)
    call_command("signal_sources", "--cluster", NAME, "--forget-agent", "r1-n01", stdout=io.StringIO())
    assert heard("r1-n01") == []
    assert not AgentBeat.objects.exists()
    with pytest.raises(CommandError, match="ever heard"):
        call_command("signal_sources", "--cluster", NAME, "--forget-agent", "r1-n01")


def test_beats_go_with_their_cluster() -> None:
    beat("r1-n01")
    beats_look([], SILENT, SILENT)
    assert not AgentBeat.objects.exists()

"""The commands around simulated clusters."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from clusters.connectors.lease import Lease, driven_at
from clusters.connectors.simulated.driver import Driver, Passes
from clusters.connectors.simulated.options import fleet_options
from clusters.domain.books import Condition, Use
from clusters.domain.books_of import read_books
from clusters.domain.events import NewEvent
from clusters.domain.ids import DAY, HOUR
from clusters.domain.invariants import check
from clusters.eventlog import store
from clusters.eventlog.log import wall_now
from clusters.eventlog.port import Receipt
from clusters.eventlog.store import create_cluster, default_log
from scheduling import services
from scheduling.management.commands import submit_trace
from scheduling.simulator import playing
from scheduling.simulator.opening import NAME as DEMO
from scheduling.simulator.opening import demo_create, demo_options
from scheduling.simulator.playing import trace_play
from scheduling.simulator.traces import read_trace
from scheduling.simulator.watching import Watch

pytestmark = pytest.mark.django_db

NAME = "played"


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def trace(tmp_path: Path) -> str:
    file = tmp_path / "trace.csv"
    rows = ["submit_s,duration_s,gpus,vc", *(f"{hour * 3600},1800,{4 + hour},team" for hour in range(6)), "30000,60,4096,team"]
    file.write_text("\n".join(rows), encoding="utf-8")
    return str(file)


@pytest.fixture
def cluster() -> str:
    run("create_simulated", NAME, "--racks", "2", "--failures-per-node-day", "0")
    return NAME


def play(cluster: str) -> None:
    """Let the fleet play all that is planned, as a server would."""
    driver = Driver(default_log(), cluster, passes=Passes(lambda _: (services.run_pass(cluster), None)[1]))
    driver.play(driver.fleet.told_at + 30 * DAY)


def test_a_simulated_cluster_has_its_racks_its_nodes_and_its_options_from_the_first_moment() -> None:
    checks = ("--bad-repairs", "0.2", "--check-s", "60")
    sizes = ("--racks", "17", "--racks-per-block", "4")
    said = run("create_simulated", NAME, *sizes, *checks, "--failure-scale", "30", "--seed", "5", "--speed", "10")
    assert "17 racks, 306 nodes of 4 GPUs, 0.06 failures a node-day, speed 10" in said
    with default_log().live(NAME).reading() as state:
        options = fleet_options(state.options)
        assert (options.seed, options.failures_per_node_day, state.clock.speed) == (5, pytest.approx(0.06), 10)
        assert (options.bad_repairs, options.check_s) == (0.2, 60)
        assert state.connector == "simulated"
        assert len(state.topology.domains) == 17
        assert {rack.block for rack in state.racks.values()} == {"b01", "b02", "b03", "b04", "b05"}
        assert {rack.switch_trays for rack in state.racks.values()} == {9}
        assert read_books(state).condition[Condition.HEALTHY] == 306


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("x", "--racks", "0"), "racks: 0 is not valid"),
        (("x", "--racks", "1", "--failures-per-node-day", "99"), "failures_per_node_day: 99.0 is not valid"),
        (("a b", "--racks", "1"), "cluster: 'a b' is not valid"),
    ],
)
def test_a_wrong_shape_or_option_is_named_and_nothing_is_created(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        run("create_simulated", *arguments)
    assert default_log().clusters() == ()


def test_a_name_is_taken_once(cluster: str) -> None:
    with pytest.raises(CommandError, match="already"):
        run("create_simulated", cluster, "--racks", "2")


def test_without_a_driver_nothing_is_submitted_and_the_exit_code_says_so(cluster: str, trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit_trace, "PATIENCE_SECONDS", 0.0)
    head = default_log().head(cluster)
    with pytest.raises(CommandError, match="nothing drives the fleet") as refused:
        run("submit_trace", trace, "--cluster", cluster, "--speed", "3600")
    assert refused.value.returncode == 2
    assert default_log().head(cluster) == head


def test_a_trace_is_planned_played_reported_and_not_played_twice(cluster: str, trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Lease(cluster, "somebody").acquire()
    monkeypatch.setattr("scheduling.management.commands.submit_trace.time.sleep", lambda _: play(cluster))
    said = run("submit_trace", trace, "--cluster", cluster, "--speed", "3600")
    assert "6 of 7 jobs planned on played" in said
    assert "left out: 1 job of 1024 nodes" in said
    assert "6 jobs in" in said
    with default_log().live(cluster).reading() as state:
        assert (state.tally["finished"], state.clock.speed, state.jobs) == (6, 3600, {})
    head = default_log().head(cluster)
    again = json.loads(run("submit_trace", trace, "--cluster", cluster, "--speed", "60", "--json"))
    assert again["outcomes"] == {"finished": 6}
    assert "submitted to played before" in run("submit_trace", trace, "--cluster", cluster, "--speed", "60")
    assert default_log().head(cluster) == head
    assert json.loads(run("trace_report", "--cluster", cluster, "--json"))["jobs"] == 6


def test_a_trace_is_for_simulated_clusters_only(trace: str) -> None:
    create_cluster("real")
    Lease("real", "somebody").acquire()
    with pytest.raises(CommandError, match="give a simulated cluster"):
        run("submit_trace", trace, "--cluster", "real", "--speed", "1")


@pytest.mark.parametrize("option", ["--speed", "--days", "--load"])
@pytest.mark.parametrize("value", ["-1", "0", "nan", "inf"])
def test_speeds_days_and_loads_are_positive_numbers(cluster: str, trace: str, option: str, value: str) -> None:
    head = default_log().head(cluster)
    with pytest.raises(CommandError, match=f"{option[2:]}: {float(value)} is not valid"):
        run("submit_trace", trace, "--cluster", cluster, *(part for pair in {"--speed": "1", option: value}.items() for part in pair))
    assert default_log().head(cluster) == head


def test_a_file_without_a_job_that_can_be_played_changes_nothing(cluster: str, trace: str) -> None:
    assert Lease(cluster, "somebody").acquire()
    head = default_log().head(cluster)
    Path(trace).write_text("submit_s,duration_s,gpus,vc\n1,60,4096,team\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(CommandError, match="none of the 1 jobs of the file can be played"):
            run("submit_trace", trace, "--cluster", cluster, "--speed", "3600")
    assert default_log().head(cluster) == head


def test_of_two_who_submit_a_file_at_once_the_second_follows_what_the_first_submitted(
    cluster: str, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = read_trace(Path(trace).read_bytes())
    append, played = store.append_facts, []

    def overtaken(name: str, facts: list[NewEvent]) -> tuple[Receipt, ...]:
        monkeypatch.setattr(playing, "append_facts", append)
        played.append(trace_play(cluster=name, trace=file, speed=60))
        return append(name, facts)

    monkeypatch.setattr(playing, "append_facts", overtaken)
    assert trace_play(cluster=cluster, trace=file, speed=3600) is None
    assert played[0] is not None
    with default_log().live(cluster).reading() as state:
        assert (len(state.plans), state.clock.speed) == (1, 60)


def test_a_missing_file_and_a_missing_cluster_are_named(cluster: str, trace: str) -> None:
    with pytest.raises(CommandError, match="No such file"):
        run("submit_trace", "nowhere.csv", "--cluster", cluster, "--speed", "1")
    for command in (("submit_trace", trace, "--speed", "1"), ("trace_report",)):
        with pytest.raises(CommandError, match="there is no cluster 'nowhere'"):
            run(*command, "--cluster", "nowhere")


def test_the_demo_is_full_and_honest_when_it_is_created_and_created_once() -> None:
    assert demo_create(options=demo_options(), racks=8, played=HOUR)
    with default_log().live(DEMO).reading() as state:
        books = read_books(state)
        assert (books.use[Use.ALLOCATED] + books.use[Use.SHARED]) / books.nodes > 0.75
        assert check(state) == []
        assert state.clock.speed == 300
    assert driven_at(DEMO, wall_now()) is None  # a server may take it at once
    head = default_log().head(DEMO)
    assert "nothing was changed" in run("load_demo")
    assert default_log().head(DEMO) == head
    run("replay", "--cluster", DEMO, "--verify")


def test_the_demo_has_a_switch_to_the_published_repair_times() -> None:
    flat, published = demo_options(), demo_options(published_repairs=True)
    assert (flat.repair_model, flat.failures_per_node_day) == (1, pytest.approx(1 / 490))
    assert (published.repair_model, published.failures_per_node_day) == (0, 2.0e-3)


def test_a_database_that_is_away_for_a_while_does_not_end_the_watching(
    cluster: str, trace: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Lease(cluster, "somebody").acquire()
    monkeypatch.setattr("scheduling.management.commands.submit_trace.time.sleep", lambda _: play(cluster))
    look, failures = Watch.look, [OperationalError("gone")] * 3

    def sometimes(self: Watch) -> bool:
        if failures:
            raise failures.pop()
        return look(self)

    monkeypatch.setattr(Watch, "look", sometimes)
    monkeypatch.setattr(submit_trace, "close_old_connections", lambda: None)
    assert "6 jobs in" in run("submit_trace", trace, "--cluster", cluster, "--speed", "3600")
    assert capsys.readouterr().err.count("the database does not answer (gone); trying again") == 3

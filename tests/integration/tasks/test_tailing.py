"""What the tail of the logs sends for."""

from __future__ import annotations

import threading

import pytest
from kombu.exceptions import OperationalError

from clusters.domain.commands import RunPass
from clusters.domain.events import NewEvent, Payload
from clusters.domain.health import SCHEDULER
from clusters.domain.ids import HOUR
from clusters.domain.inventory_events import ClockSet, NodeRegistered, RackRegistered
from clusters.domain.job_events import WorkStarted
from clusters.domain.jobs import JobState
from clusters.eventlog.log import wall_now
from clusters.eventlog.maintenance import remove_cluster
from clusters.eventlog.models import JobRecord
from clusters.eventlog.request import Request
from clusters.eventlog.store import append_facts, commit, create_cluster, default_log
from scheduling import services
from scheduling.domain.decide import decide
from tasks import housekeeping, passes, tailing, waking
from tasks.tailing import Tail
from tests.contract.eventlog.tampering import tamper
from tests.support.world import ask

pytestmark = pytest.mark.django_db

NAME = "tailed"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was sent, in order: "pass NAME" and "keep NAME"."""
    sent: list[str] = []
    monkeypatch.setattr(passes.waker, "_send", lambda cluster: sent.append(f"pass {cluster}"))
    monkeypatch.setattr(housekeeping.keep, "delay", lambda cluster: sent.append(f"keep {cluster}"))
    monkeypatch.setattr(housekeeping.canary, "delay", lambda: sent.append("canary"))
    monkeypatch.setattr(tailing, "KEEP_SECONDS", 0.0)
    for cluster in (NAME, "other"):
        passes.waker.begun(cluster)
    return sent


@pytest.fixture
def cluster() -> str:
    create_cluster(NAME)
    tell(RackRegistered(rack="r1", block="b1"), *(NodeRegistered(node=f"n{n}", rack="r1", domain="r1", gpus=4) for n in range(18)))
    return NAME


def tell(*payloads: Payload) -> None:
    head = default_log().head(NAME)
    append_facts(NAME, [NewEvent(payload, 0, "fleet", f"{head}/{number}") for number, payload in enumerate(payloads)])


def test_the_pass_is_woken_when_there_is_something_to_do_and_only_then(cluster: str, sent: list[str]) -> None:
    tail = Tail(threading.Event())
    tail.look()
    assert sent == [f"keep {NAME}"]
    job = services.job_submit(cluster=cluster, request=ask(16), by="ada")
    tail.look()
    assert sent[1:] == [f"pass {NAME}", f"keep {NAME}"]
    tail.look()  # the first is still on its way
    assert len(sent) == 3
    services.run_pass(cluster)
    tail.look()
    assert sent[3:] == [f"keep {NAME}"]
    tell(WorkStarted(job=str(job), generation=1, nodes=("n0",)))
    tail.look()
    assert sent[4:] == [f"keep {NAME}"]


def test_what_comes_while_a_pass_of_another_process_runs_gets_a_pass_of_its_own(cluster: str, sent: list[str]) -> None:
    tail = Tail(threading.Event())
    services.job_submit(cluster=cluster, request=ask(2), by="ada")
    tail.look()
    services.run_pass(cluster)
    services.job_submit(cluster=cluster, request=ask(2), by="ada")
    tail.look()
    assert sent.count(f"pass {NAME}") == 2


def test_a_log_that_cannot_be_read_keeps_nobody_elses_pass_from_being_woken(
    cluster: str, sent: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    create_cluster("damaged")
    append_facts("damaged", [NewEvent(RackRegistered(rack="r1", block="b1"), 0, "fleet", "1")])
    tamper("UPDATE clusters_logevent SET payload = '{}' WHERE kind = 'RackRegistered' AND cluster_id <> %s", default_log().locate(NAME)[0])
    tail = Tail(threading.Event())
    services.job_submit(cluster=cluster, request=ask(2), by="ada")
    for _ in range(3):
        tail.look()
    assert f"pass {NAME}" in sent
    assert [record.message for record in caplog.records if record.name == tailing.__name__] == [
        "the log of cluster 'damaged' cannot be followed"
    ]


def test_what_waited_before_this_process_began_is_seen_to(cluster: str, sent: list[str]) -> None:
    services.job_submit(cluster=cluster, request=ask(2), by="ada")
    Tail(threading.Event()).look()
    assert f"pass {NAME}" in sent


def test_a_cluster_that_is_removed_and_made_again_starts_anew(cluster: str, sent: list[str]) -> None:
    tail = Tail(threading.Event())
    tail.look()
    remove_cluster(NAME, by="test", reason="test")
    tail.look()
    sent.clear()
    create_cluster(NAME)
    services.run_pass(NAME)
    tail.look()
    assert sent == [f"keep {NAME}"]


def test_the_pass_places_what_waits_and_a_removed_cluster_is_no_error(cluster: str) -> None:
    services.job_submit(cluster=cluster, request=ask(16), by="ada")
    passes.run_pass(cluster)
    with default_log().live(cluster).reading() as state:
        assert [job.state for job in state.jobs.values()] == [JobState.PLACED]
    passes.run_pass("nowhere")
    housekeeping.keep("nowhere")


def test_a_pass_with_much_to_do_makes_room_for_others_and_goes_on_later(
    cluster: str, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter([(5, True), (5, True), (5, False)])
    monkeypatch.setattr(services, "pass_step", lambda _: next(steps))
    monkeypatch.setattr(passes, "STEP_SECONDS", 0.0)
    passes.run_pass(cluster)
    assert sent == [f"pass {NAME}"]
    assert next(steps) == (5, True)


def test_the_tail_outlives_a_broker_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    tail = Tail(stop)
    looks: list[str] = []

    def look() -> None:
        looks.append("look")
        if len(looks) == 1:
            raise OperationalError("no broker")
        stop.set()

    monkeypatch.setattr(tail, "look", look)
    monkeypatch.setattr(tailing, "PAUSE_SECONDS", 0.0)
    thread = threading.Thread(target=tail.run)  # it closes the connections of its thread at its end
    thread.start()
    thread.join(30)
    assert looks == ["look", "look"]


def test_the_sweep_wakes_every_cluster(cluster: str, sent: list[str]) -> None:
    create_cluster("other")
    passes.sweep()
    assert sent == ["canary", "pass other", "keep other", f"pass {NAME}", f"keep {NAME}"]


def test_housekeeping_goes_on_in_small_steps_until_everything_is_projected(cluster: str, sent: list[str]) -> None:
    for number in range(400):
        services.job_submit(cluster=cluster, request=ask(1, name=f"job {number}"), by="ada")
    passes.run_pass(cluster)
    steps = 0
    while steps == 0 or sent:
        sent.clear()
        housekeeping.keep(cluster)
        steps += 1
    assert steps > 1
    assert JobRecord.objects.count() == 400


class Wall:
    """The wall clock as those see it who wake the pass."""

    def __init__(self) -> None:
        self.now = wall_now()

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    wall = Wall()
    monkeypatch.setattr(waking, "wall_now", wall)
    return wall


def run_limited(cluster: str, at: int) -> None:
    """A job that runs since then, for an hour at most."""
    job = str(services.job_submit(cluster=cluster, request=ask(1, time_limit_s=3600), by="ada"))
    services.run_pass(cluster)
    (node,) = default_log().live(cluster).catch_up().jobs[job].held_nodes
    append_facts(cluster, [NewEvent(WorkStarted(job=job, generation=1, nodes=(node,)), at, "fleet", f"start/{job}")])


def set_clock(cluster: str, wall: Wall, cluster_time: int, speed: float) -> None:
    clock = ClockSet(wall=wall.now, cluster_time=cluster_time, speed=speed)
    append_facts(cluster, [NewEvent(clock, cluster_time, "test", f"clock/{default_log().head(cluster)}")])


def wakes(sent: list[str], tail: Tail) -> bool:
    """Whether a look sends for the pass."""
    sent.clear()
    passes.waker.begun(NAME)
    tail.look()
    return f"pass {NAME}" in sent


def test_the_pass_is_woken_at_a_deadline_though_nothing_is_appended(cluster: str, sent: list[str], wall: Wall) -> None:
    tail = Tail(threading.Event())
    start = wall.now
    run_limited(cluster, start)
    woken = []
    for after in (0, HOUR - 1, HOUR + 1, HOUR + 2):
        wall.now = start + after
        woken.append(wakes(sent, tail))
    assert woken == [False, False, True, True]  # once more, as no pass has come
    for _ in range(2):  # its work is stopped, then it fails
        commit(cluster, Request(command=RunPass(), source=SCHEDULER, request_id=None, now=wall.now), decide)
    assert not wakes(sent, tail)
    assert not wakes(sent, tail)


def test_deadlines_keep_to_a_clock_that_is_stopped_and_set(cluster: str, sent: list[str], wall: Wall) -> None:
    tail = Tail(threading.Event())
    start = wall.now
    run_limited(cluster, start)
    assert not wakes(sent, tail)
    set_clock(cluster, wall, start, 0.0)
    assert not wakes(sent, tail)
    wall.now += 10 * HOUR
    assert not wakes(sent, tail)
    set_clock(cluster, wall, start + HOUR // 2, 60.0)
    assert not wakes(sent, tail)
    wall.now += HOUR // 120 - 10
    assert not wakes(sent, tail)
    wall.now += 20
    assert wakes(sent, tail)


def test_in_lockstep_the_log_tells_the_time_of_a_deadline(cluster: str, sent: list[str], wall: Wall) -> None:
    tail = Tail(threading.Event())
    start = wall.now
    run_limited(cluster, start)
    set_clock(cluster, wall, start, 300.0)
    assert not wakes(sent, tail)
    wall.now += 10 * HOUR
    assert not wakes(sent, tail)
    set_clock(cluster, wall, start + HOUR, 300.0)
    assert wakes(sent, tail)

"""The worker library against the API as it is served: joining, hearing of a swap, reporting, and what it does when nobody answers."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from slicekeeper_worker import Api, ApiError, JobOver, NotPlaced, Unreachable, Worker, join, runner
from slicekeeper_worker.__main__ import main
from slicekeeper_worker.api import persist

SECONDS = 20.0


def slot(rank: int, node: str | None) -> dict[str, Any]:
    return {"slice": 0, "slot": rank, "node": node, "gpus": [], "rank": rank, "gpu_rank": 4 * rank, "new": rank == 0}


class Answering(BaseHTTPRequestHandler):
    """One request to a plane."""

    plane: Plane

    def do_GET(self) -> None:
        query = dict(pair.split("=") for pair in self.path.partition("?")[2].split("&") if pair)
        plane, after = self.plane, int(query.get("after", 0))
        with plane.news:
            plane.news.wait_for(lambda: plane.generation > after or plane.over, float(query.get("wait", 0)))
            body = plane.assignment()
        self.answer(body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.plane.posted.append((self.path.rpartition("/api/v1/clusters/lab/")[2], body, dict(self.headers)))
        self.answer({}, refused=self.plane.refusing > 0)
        self.plane.refusing -= 1

    def answer(self, body: dict[str, Any], *, refused: bool = False) -> None:
        status = 200
        if refused:
            status, body = 409, {"code": "state", "detail": "not yours"}
        if self.headers["Authorization"] != "Bearer sk_good":
            status, body = 401, {"code": "bad-token", "detail": "This token is no good"}
        elif self.plane.failing:
            self.plane.failing -= 1
            status, body = 503, {"code": "busy", "detail": "not now"}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class Plane:
    """A control plane that says what it is told to say."""

    def __init__(self) -> None:
        self.generation, self.nodes, self.state, self.over = 1, ["a", "b"], "running", False
        self.failing = 0  # answers of 503 still to come
        self.refusing = 0  # answers of 409 to reports still to come
        self.posted: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.news = threading.Condition()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Mine", (Answering,), {"plane": self}))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def assignment(self) -> dict[str, Any]:
        slots = [slot(rank, node) for rank, node in enumerate(self.nodes)]
        return {
            "job": "j000001", "generation": self.generation, "state": self.state, "over": self.over, "slots": [] if self.over else slots,
            "stays": ["b"], "came": ["a"], "left": [], "checkpoint_step": None,
        }  # fmt: skip

    def change(self, **values: Any) -> None:
        with self.news:
            for name, value in values.items():
                setattr(self, name, value)
            self.news.notify_all()


@pytest.fixture
def plane() -> Iterator[Plane]:
    made = Plane()
    yield made
    made.change(over=True)
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def api(plane: Plane) -> Api:
    return Api(url=plane.url, token="sk_good", cluster="lab", patience=5.0)


def joined(api: Api, node: str = "b") -> Worker:
    return join("j000001", node, api)


def test_a_worker_knows_its_rank_and_hears_of_a_later_assignment_which_it_takes_when_it_likes(plane: Plane, api: Api) -> None:
    worker = joined(api)
    assert (worker.rank, worker.world, worker.generation, worker.changed) == (1, 2, 1, False)
    plane.change(generation=2, nodes=["c", "b"])
    assert worker.wait(SECONDS)
    assert (worker.generation, worker.changed) == (1, True)
    worker.take()
    assert (worker.generation, worker.changed, worker.assignment.node_of(0)) == (2, False, "c")


def test_one_without_a_slot_waits_for_one_and_learns_when_it_has_lost_it(plane: Plane, api: Api) -> None:
    waiting: list[Worker] = []
    thread = threading.Thread(target=lambda: waiting.append(joined(api, "c")))
    thread.start()
    plane.change(generation=2, nodes=["a", "c"])
    thread.join(SECONDS)
    assert waiting[0].rank == 1
    plane.change(generation=3, nodes=["a", "b"])
    assert waiting[0].wait(SECONDS)
    waiting[0].take()
    with pytest.raises(NotPlaced):
        _ = waiting[0].rank


def test_the_end_of_the_job_is_news(plane: Plane, api: Api) -> None:
    worker = joined(api)
    plane.change(over=True, state="finished")
    assert worker.wait(SECONDS)
    worker.take()
    with pytest.raises(JobOver):
        _ = worker.rank
    with pytest.raises(JobOver):
        joined(api)


def test_nobody_waits_for_a_slot_longer_than_they_like(api: Api) -> None:
    with pytest.raises(NotPlaced, match="node z has no slot"):
        join("j000001", "z", api, patience=0.0)


def test_a_worker_knows_who_stays_and_who_is_new(api: Api) -> None:
    told = joined(api).assignment
    assert (told.stays, told.came, [place.new for place in told.places]) == (("b",), ("a",), [True, False])


@pytest.mark.parametrize(
    ("url", "token", "named"),
    [
        ("nonsense", "sk_good", "url: 'nonsense'"),
        ("http://x", "sk good", "token:"),
        ("http://x", "sk_\u2192", "token:"),
        ("http://x", " ", "token:"),
    ],
)
def test_what_no_request_could_carry_is_refused_at_once(url: str, token: str, named: str) -> None:
    with pytest.raises(ValueError, match=named) as refused:
        Api(url=url, token=token, cluster="lab")
    assert not token.strip() or token not in str(refused.value)


def test_a_token_from_a_file_may_end_with_a_line(api: Api) -> None:
    assert joined(Api(url=api.url, token="sk_good\n", cluster="lab")).rank == 1


def test_what_is_wrong_with_reports_stays_told_until_one_is_taken(plane: Plane, api: Api) -> None:
    worker = joined(api)
    plane.change(refusing=1)
    worker.report_checkpoint(40)
    assert eventually(lambda: "409 state: not yours" in worker.trouble)
    plane.change(generation=2)
    assert worker.wait(SECONDS)
    assert "409 state: not yours" in worker.trouble, "hearing something is no sign that reports are taken"
    worker.report_checkpoint(41)
    assert eventually(lambda: not worker.trouble)
    worker.leave()


def test_a_worker_whose_checkpoints_are_refused_for_good_says_so_once(plane: Plane, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    worker = joined(api)
    worker.api = replace(api, token="sk_bad")

    def report(number: int) -> None:
        worker.report_checkpoint(number)
        assert eventually(lambda: len(plane.posted) == number)

    for number in (1, 2, 3):  # once the third is sent, the second has been answered
        report(number)
    worker.leave()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("job j000001: checkpoints reported by b are refused: 401 bad-token")


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it holds before long."""
    ends = time.monotonic() + SECONDS
    while not holds() and time.monotonic() < ends:
        time.sleep(0.02)
    return holds()


def test_what_is_missing_is_named() -> None:
    with pytest.raises(KeyError, match="SLICEKEEPER_TOKEN"):
        join("j", "n", environ={"SLICEKEEPER_URL": "http://x"})


def test_a_busy_server_is_asked_again_and_a_refusal_is_told_at_once(plane: Plane, api: Api) -> None:
    plane.change(failing=2)
    assert joined(api).rank == 1
    with pytest.raises(ApiError, match="401 bad-token: This token is no good"):
        joined(Api(url=api.url, token="sk_bad", cluster="lab"))


def test_a_server_that_is_away_is_given_up_after_a_while() -> None:
    naps: list[float] = []

    def away() -> None:
        raise http.client.RemoteDisconnected("gone")

    def nap(seconds: float) -> None:
        naps.append(seconds)
        threading.Event().wait(0.05)

    with pytest.raises(Unreachable, match="gone"):
        persist(away, 0.2, nap)
    assert naps
    assert all(0 <= seconds <= 5 for seconds in naps)


def test_checkpoints_are_told_in_the_background_with_their_generation_and_a_key(plane: Plane, api: Api) -> None:
    worker = joined(api)
    worker.report_checkpoint(40)
    ends = threading.Event()
    for _ in range(200):
        if plane.posted:
            break
        ends.wait(0.05)
    (path, body, headers) = plane.posted[0]
    assert (path, body) == ("jobs/j000001/checkpoint/", {"step": 40, "generation": 1})
    assert headers["Idempotency-Key"] == "j000001/checkpoint/1/40"
    worker.leave()


def test_health_is_a_signal_of_the_node(plane: Plane, api: Api) -> None:
    joined(api).report_health("soft", "slow", "steps take twice as long")
    path, body, _ = plane.posted[0]
    (signal,) = body["signals"]
    assert (path, body["feed"], signal["node"], signal["kind"], signal["code"]) == ("signals/", "worker", "b", "soft", "slow")


@pytest.fixture
def shell(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> Plane:
    """The environment of a node."""
    values = {"URL": plane.url, "TOKEN": "sk_good", "CLUSTER": "lab", "JOB": "j000001", "NODE": "b"}
    for name, value in values.items():
        monkeypatch.setenv(f"SLICEKEEPER_{name}", value)
    return plane


def test_the_command_prints_the_assignment_as_json(shell: Plane, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assignment"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["generation"], [place["node"] for place in told["places"]]) == (1, ["a", "b"])
    shell.change(over=True)
    assert main(["watch"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["over"]


def test_the_command_says_what_is_missing_and_what_was_refused(
    shell: Plane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SLICEKEEPER_NODE")
    assert main(["assignment"]) == 0
    assert main(["run", "--", "true"]) == 2
    assert "--node or SLICEKEEPER_NODE" in capsys.readouterr().err
    assert main(["--job", "", "health", "soft"]) == 2
    assert capsys.readouterr().err == "say --node or SLICEKEEPER_NODE\n"
    assert main(["--token", "sk_bad", "checkpoint", "--step", "4"]) == 1
    assert "bad-token" in capsys.readouterr().err
    assert main(["--url", "nonsense", "checkpoint", "--step", "4"]) == 2
    assert "url: 'nonsense'" in capsys.readouterr().err
    assert main(["checkpoint", "--step", "4"]) == 0
    assert shell.posted[-1][1] == {"step": 4}


def test_the_command_starts_a_program_anew_with_each_assignment(shell: Plane, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "NEWS", 0.2)
    told = tmp_path / "told"
    program = [
        "/bin/sh",
        "-c",
        f'echo "$SLICEKEEPER_GENERATION $NODE_RANK/$NNODES $MASTER_ADDR" >> {told}; [ "$NNODES" = 3 ] && exit 5; sleep 60',
    ]
    codes: list[int] = []

    def follow() -> None:
        for _ in range(400):
            if told.exists() and told.read_text():
                break
            threading.Event().wait(0.05)
        shell.change(generation=2, nodes=["c", "b", "d"])

    thread = threading.Thread(target=follow)
    thread.start()
    codes.append(main(["run", "--", *program]))
    thread.join(SECONDS)
    assert codes == [5]
    assert told.read_text().splitlines() == ["1 1/2 a", "2 1/3 c"]
    assert os.environ["SLICEKEEPER_NODE"] == "b"

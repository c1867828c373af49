"""The agent of a node: what it makes of captured output, what it keeps, and what it does when the server will not have it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.domain.signals import SignalKind
from clusters.signals import nvidia_smi
from clusters.signals.model import Signal
from slicekeeper_agent import sending
from slicekeeper_agent.gpus import output_of, product_of
from slicekeeper_agent.looking import SAY_AGAIN_SECONDS, Looking, text_of, wire
from slicekeeper_agent.options import parse_options
from slicekeeper_agent.run import Agent
from slicekeeper_agent.sending import Sender
from slicekeeper_agent.spool import Spool
from tests.support.patience import PATIENCE
from tests.support.shared import ROOT, shared_path

SIGNAL = {"node": "n1", "code": "xid:79"}
MANY = 1 << 20


def report(name: str) -> str:
    return shared_path("data", "formats", "nvidia-smi", f"qx-{name}.xml").read_text(encoding="utf-8")


def look(looking: Looking, name: str, at: float) -> list[Signal]:
    """What is sent of a report."""
    text = report(name)
    return list(looking.report(nvidia_smi.parse(text, "n1", gpus=2), product_of(text), at))


def kinds(signals: Any) -> set[str]:
    return {f"{signal.check} {signal.kind}" for signal in signals if signal.kind is not SignalKind.RECOVERED}


# ---- looking


def test_only_what_is_different_from_the_report_before_is_sent_and_what_is_wrong_now_and_then() -> None:
    looking = Looking("n1")
    first = look(looking, "gb200-healthy", 0)
    assert first
    assert kinds(first) == set()
    assert look(looking, "gb200-healthy", 30) == []
    assert kinds(look(looking, "gb200-ecc-injected", 60)) == {"row remap fatal", "memory errors soft"}
    assert look(looking, "gb200-ecc-injected", 90) == []
    back = look(looking, "gb200-healthy", 120)
    assert {(signal.check, signal.kind) for signal in back} == {
        ("row remap", SignalKind.RECOVERED),
        ("memory errors", SignalKind.RECOVERED),
    }
    assert look(looking, "gb200-healthy", SAY_AGAIN_SECONDS) == []
    look(looking, "gb200-ecc-injected", SAY_AGAIN_SECONDS + 1)
    assert kinds(look(looking, "gb200-ecc-injected", 2 * SAY_AGAIN_SECONDS)) == {"row remap fatal", "memory errors soft"}


def test_the_report_tells_what_the_gpus_are() -> None:
    looking = Looking("n1")
    look(looking, "gb200-healthy", 0)
    (signal,) = looking.kernel(["NVRM: Xid (PCI:0000:0a:00): 74, pid=1, NVLink: fatal error"])
    assert signal.kind is SignalKind.SOFT, "74 is not in use on GB200"
    assert product_of("<product_name>NVIDIA & Co</product_name>") == product_of("<product_name>") == ""


def test_a_record_of_the_kernel_has_an_id_and_the_time_it_was_written() -> None:
    looking = Looking("n1", boot="b", booted_at=1_795_161_492_000_000)
    (signal,) = looking.kernel(["6,7,500000,-;NVRM: Xid (PCI:0000:0a:00): 79, pid=1, GPU has fallen off the bus."])
    sent = wire(signal, "now")
    assert (sent["id"], sent["occurred_at"], sent["code"]) == ("b/7", "2026-11-20T07:58:12.500000Z", "xid:79")
    assert "lasting" not in sent


@pytest.mark.parametrize(("text", "kind"), [("READY\n", "recovered"), ("ready", "recovered"), ("INITIALIZING", "soft"), ("", "soft")])
def test_imex_is_ready_or_a_doubt(text: str, kind: str) -> None:
    looking = Looking("n1")
    (signal,) = looking.imex(text)
    assert signal.kind == kind
    assert list(looking.imex(text)) == []


def test_a_command_that_fails_is_a_doubt_until_it_works() -> None:
    _, failed = output_of((sys.executable, "-c", "import sys; print('No devices were found'); sys.exit(6)"))
    assert failed == "No devices were found"
    assert "FileNotFoundError" in output_of(("/nowhere/nvidia-smi",))[1]
    assert output_of((sys.executable, "-c", "print('<?xml ok')")) == ("<?xml ok\n", "")
    looking = Looking("n1")
    (doubt,), (over,) = looking.failed("nvidia-smi", failed), looking.worked("nvidia-smi")
    assert (doubt.kind, over.kind, doubt.check, doubt.component) == (SignalKind.SOFT, SignalKind.RECOVERED, over.check, over.component)


def test_times_are_written_as_the_api_reads_them() -> None:
    assert text_of(1_795_161_492_123_456) == "2026-11-20T07:58:12.123456Z"


# ---- keeping


def test_what_waits_survives_and_keeps_its_number(tmp_path: Path) -> None:
    spool = Spool(tmp_path, MANY)
    for number in range(5):
        spool.add({**SIGNAL, "text": str(number)})
    sent = spool.first(2, MANY)
    spool.done(2)
    spool.close()
    file = tmp_path / "spool.jsonl"
    file.write_bytes(file.read_bytes() + b'{"half')
    again = Spool(tmp_path, MANY)
    waiting = again.first(10, MANY)
    assert [signal["text"] for signal in waiting] == ["2", "3", "4"]
    again.add(SIGNAL)
    numbers = [signal["seq"] for signal in (*sent, *again.first(10, MANY))]
    assert numbers == list(range(numbers[0], numbers[0] + 6)), "without a gap, also through a restart"
    again.close()
    third = Spool(tmp_path, MANY)
    assert [signal["seq"] for signal in third.first(10, MANY)] == numbers[2:]
    third.done(4)
    third.close()
    empty = Spool(tmp_path, MANY)
    empty.add(SIGNAL)
    assert empty.first(1, MANY)[0]["seq"] == numbers[-1] + 1, "nothing waited, and the number is known still"
    empty.close()


def test_an_agent_without_its_files_does_not_use_a_number_twice(tmp_path: Path) -> None:
    numbers = []
    for directory in ("a", "b"):
        spool = Spool(tmp_path / directory, MANY)
        spool.add(SIGNAL)
        numbers.append(spool.first(1, MANY)[0]["seq"])
        spool.close()
        # a restart takes longer than a millisecond
        subprocess.run([sys.executable, "-c", ""], check=True)
    assert numbers[0] < numbers[1]


@settings(max_examples=30)  # each is a directory of its own
@given(st.lists(st.one_of(st.integers(1, 400), st.just(0)), max_size=40))
def test_the_spool_is_bounded_and_drops_the_oldest(tmp_path_factory: pytest.TempPathFactory, steps: list[int]) -> None:
    """A number adds a signal with so long a text; 0 sends one."""
    spool = Spool(tmp_path_factory.mktemp("spool"), 1_000)
    expected: list[int] = []
    for place, size in enumerate(steps):
        if size:
            spool.add({"text": "x" * size, "place": place})
            expected.append(place)
        elif len(spool):
            spool.done(1)
            expected.pop(0)
        expected = expected[len(expected) - len(spool) :]
        assert [signal["place"] for signal in spool.first(100, MANY)] == expected
        assert len(spool) == 1 or sum(len(json.dumps(signal, separators=(",", ":"))) + 1 for signal in spool.first(100, MANY)) <= 1_000
    spool.close()


# ---- sending


class Server:
    """Takes requests instead of the network; answers with what it is told to."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self.answers = list(answers)
        self.batches: list[list[dict[str, Any]]] = []

    def open(self, request: urllib.request.Request, timeout: float) -> io.BytesIO:
        assert isinstance(request.data, bytes)
        self.batches.append(json.loads(request.data)["signals"])
        status, body = self.answers.pop(0) if self.answers else (200, {})
        if status == 0:
            raise ConnectionRefusedError("nobody there")
        content = io.BytesIO(json.dumps(body).encode())
        if status != 200:
            raise urllib.error.HTTPError(request.full_url, status, "no", Message(), content)
        return content


def sender(*answers: tuple[int, Any]) -> tuple[Sender, Server]:
    server = Server(*answers)
    return Sender(url="http://x/", token="sk_x", feed="agent/n1", opener=server), server  # type: ignore[arg-type]


@pytest.fixture
def spool(tmp_path: Path) -> Any:
    kept = Spool(tmp_path, MANY)
    for number in range(4):
        kept.add({**SIGNAL, "text": str(number)})
    yield kept
    kept.close()


def texts(spool: Spool) -> list[str]:
    return [signal["text"] for signal in spool.first(10, MANY)]


@pytest.mark.parametrize("status", [0, 401, 403, 429, 500, 503])
def test_what_the_server_does_not_take_now_waits_and_the_pauses_grow(spool: Spool, status: int) -> None:
    sending_, server = sender((status, {}), (status, {}), (status, {}))
    pauses = []
    for _ in range(3):
        assert not sending_.send(spool)
        pauses.append(sending_.pause)
    assert len(spool) == 4
    assert sending.PAUSES[0] / 2 <= pauses[0] <= pauses[2] * 2
    assert sending_.send(spool)
    assert (len(spool), sending_.pause) == (0, 0.0)
    assert server.batches[0] == server.batches[3]


def test_a_signal_that_is_wrong_is_dropped_by_its_place_and_the_others_are_sent(spool: Spool) -> None:
    sending_, _ = sender((422, {"detail": "x", "errors": [{"field": "signals[2].node"}, {"field": "signals[0].code"}]}))
    assert sending_.send(spool)
    assert texts(spool) == ["1", "3"]
    assert sending_.send(spool)
    assert len(spool) == 0


def test_where_the_server_names_none_the_one_that_is_wrong_is_found(spool: Spool) -> None:
    conflict = (409, {"code": "source-conflict"})
    sending_, server = sender(conflict, (200, {}), conflict)
    while len(spool):
        sending_.send(spool)
    sent = ["".join(signal["text"] for signal in batch) for batch in server.batches]
    assert sent == ["0123", "0", "12", "1", "23"]


# ---- the whole


def test_the_options_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLICEKEEPER_TOKEN", raising=False)
    token = tmp_path / "token"
    token.write_text("sk_x\n")
    right = ["--url", "https://h/", "--cluster", "lab", "--token-file", str(token), "--nvidia-smi", "sudo nvidia-smi -q -x"]
    options = parse_options(right)
    assert (options.url, options.token, options.smi[0], options.imex) == ("https://h", "sk_x", "sudo", ())
    for wrong in (["--url", "ftp://h"], ["--url", "h"], ["--token-file", str(tmp_path / "none")]):
        with pytest.raises(SystemExit):
            parse_options([*right, *wrong])


def test_everything_that_there_is_goes_into_the_spool_while_the_server_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "kern.log"
    xid = "NVRM: Xid (PCI:0000:0a:00):"
    log.write_text(f"boring\n{xid} 79, pid=1, GPU has fallen off the bus.\n{xid} 48, pid=1", "utf-8")
    monkeypatch.setenv("SLICEKEEPER_TOKEN", "sk_x")
    monkeypatch.setattr("slicekeeper_agent.run.LAST_SECONDS", 0.5)
    arguments = ["--url", "http://127.0.0.1:1", "--cluster", "lab", "--node", "n1", "--state", str(tmp_path / "state")]
    agent = Agent(parse_options([*arguments, "--kernel-log", str(log), "--nvidia-smi", "none", "--once"]))
    assert agent.run() == 1
    _, *waiting = [json.loads(line) for line in (tmp_path / "state" / "spool.jsonl").read_text().splitlines()]
    assert [signal["code"] for signal in waiting] == ["xid:79", "xid:48", "heartbeat"]


def test_it_runs_on_python_alone() -> None:
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import slicekeeper_agent.run; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert {"django", "msgspec", "yaml"}.isdisjoint(done.stdout.split())


def test_it_travels_as_one_file(tmp_path: Path) -> None:
    archive = tmp_path / "agent.pyz"
    subprocess.run([sys.executable, "scripts/agent_archive.py", str(archive)], cwd=ROOT, check=True)
    assert archive.stat().st_size < 200_000
    log = tmp_path / "kern.log"
    log.write_text("NVRM: Xid (PCI:0000:0a:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x0 0x0)\n", encoding="utf-8")
    where = ["--url", "http://127.0.0.1:1", "--cluster", "lab", "--node", "n1", "--state", str(tmp_path), "--nvidia-smi", "none"]
    command = [sys.executable, "-I", "-S", str(archive), *where, "--kernel-log", str(log)]
    agent = subprocess.Popen(command, cwd=tmp_path, env={"SLICEKEEPER_TOKEN": "sk_x"}, stderr=subprocess.PIPE, text=True)
    spool, end = tmp_path / "spool.jsonl", time.monotonic() + PATIENCE
    while not (spool.exists() and "xid:149" in spool.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    agent.terminate()
    _, told = agent.communicate(timeout=PATIENCE)
    assert agent.returncode == 1, "something waits still"
    assert "cannot be reached" in told
    waiting = {signal["code"]: signal for signal in map(json.loads, spool.read_text().splitlines()[1:])}
    assert waiting.keys() == {"heartbeat", "xid:149"}
    assert (waiting["xid:149"]["kind"], waiting["xid:149"]["action"]) == ("fatal", "RESET_GPU")

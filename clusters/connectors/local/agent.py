"""A local node: one process that runs the work it is told to as children, and shows signs of life.

It is started as a script, so that it is light, and imports nothing of this project. Lines of JSON come in and go out:

  in   {"run": KEY, "argv": [...], "env": {...}, "log": FILE}    {"stop": KEY, "grace_s": SECONDS}    {"ask": KEY}
  out  {"beat": PID}    {"started": KEY, "pid": PID}    {"ended": KEY, "code": CODE, "told": BOOL, "error": TEXT}
       {"answer": KEY, "pid": PID}

A code below zero is the signal that killed the work. When its input ends, whoever started it is gone: all work is stopped, and it ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from contextlib import suppress

BEAT_SECONDS = 1.0

#: Seconds that work has to stop by itself when whoever started this is gone.
GOODBYE_SECONDS = 3.0

#: What a shell answers where a program cannot be started.
NOT_STARTED = 127


class Agent:
    """The work of one node, by key."""

    def __init__(self) -> None:
        self.pids: dict[int, str] = {}  # process (and group) -> key
        self.told: dict[str, float] = {}  # work that was told to stop -> when it is killed
        self.beat_at = 0.0

    def obey(self, line: bytes) -> None:
        """Do what a line says; what is done already, or unknown, changes nothing."""
        order = json.loads(line)
        if "run" in order and order["run"] not in self.pids.values():
            self.run(order)
        if "ask" in order:
            say({"answer": order["ask"], "pid": os.getpid()})
        for pid, key in self.pids.items():
            if key == order.get("stop") and key not in self.told:
                self.told[key] = time.monotonic() + order["grace_s"]
                kill_group(pid, signal.SIGTERM)

    def run(self, order: dict[str, object]) -> None:
        """Start work in a process group of its own."""
        argv, env = [str(word) for word in list(order["argv"])], dict(order["env"])  # type: ignore[call-overload]
        log = str(order["log"])
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        key = str(order["run"])
        try:
            pid = os.posix_spawnp(argv[0], argv, env, file_actions=files, setpgroup=0, setsigdef=[signal.SIGCHLD, signal.SIGPIPE])
        except OSError as error:
            say({"ended": key, "code": NOT_STARTED, "told": False, "error": f"{argv[0]}: {error.strerror}"})
            return
        self.pids[pid] = key
        say({"started": key, "pid": pid})

    def reap(self) -> None:
        """Tell of all work that has ended, and end what it has left behind."""
        while self.pids:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            key = self.pids.pop(pid, None)
            if key is not None:
                kill_group(pid, signal.SIGKILL)
                told = self.told.pop(key, None) is not None
                say({"ended": key, "code": os.waitstatus_to_exitcode(status), "told": told, "error": ""})

    def leave(self, woken: int) -> None:
        """Stop everything, at once if need be."""
        ends = time.monotonic() + GOODBYE_SECONDS
        for pid in self.pids:
            kill_group(pid, signal.SIGTERM)
        while self.pids and (left := ends - time.monotonic()) > 0:
            select.select([woken], [], [], min(left, 0.1))
            self.reap()
        for pid in self.pids:
            kill_group(pid, signal.SIGKILL)

    def mind_time(self) -> float:
        """Beat, and kill what has had its time to stop; how long to wait for the next."""
        now = time.monotonic()
        if now >= self.beat_at:
            self.beat_at = now + BEAT_SECONDS
            say({"beat": os.getpid()})
        for pid, key in self.pids.items():
            if self.told.get(key, now + 1) <= now:
                kill_group(pid, signal.SIGKILL)
        return max(0.0, min([self.beat_at, *(due for due in self.told.values() if due > now)]) - now)


def say(what: dict[str, object]) -> None:
    """One line, at once."""
    with suppress(BrokenPipeError):
        os.write(1, json.dumps(what).encode() + b"\n")


def kill_group(pid: int, number: int) -> None:
    """Signal a process and all that it has started in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def main() -> None:
    """Until the input ends."""
    agent, heard = Agent(), b""
    woken, waking = os.pipe()
    for end in (woken, waking):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([0, woken], [], [], agent.mind_time())
        if woken in ready:
            with suppress(BlockingIOError):
                os.read(woken, 4096)
        agent.reap()
        if 0 in ready:
            piece = os.read(0, 1 << 16)
            if not piece:
                break
            *lines, heard = (heard + piece).split(b"\n")
            for line in lines:
                agent.obey(line)
    agent.leave(woken)


if __name__ == "__main__":
    main()

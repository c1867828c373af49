"""Lines of the kernel log, as they come: of /dev/kmsg, of a file that grows, or of standard input. On a thread of its own."""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from slicekeeper_agent.options import KMSG, NOTHING, STDIN

logger = logging.getLogger("slicekeeper_agent")

#: Lines that wait to be read; what comes faster than that is a storm, and the oldest of it says as much.
MOST_WAITING = 10_000
RECORD = 8_192  # bytes: the largest record that the kernel gives
LOOK_SECONDS = 0.5


class KernelLog:
    """Puts lines into a queue until it is told to stop."""

    def __init__(self, where: str, *, once: bool) -> None:
        self._where = where
        self._once = once
        self._lines: queue.Queue[str] = queue.Queue(MOST_WAITING)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kernel log", daemon=True)
        if where != NOTHING:
            self._thread.start()

    def lines(self) -> list[str]:
        """Those that have come since the last time."""
        found = []
        while True:
            try:
                found.append(self._lines.get_nowait())
            except queue.Empty:
                return found

    def ended(self) -> bool:
        """Whether no more will come."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Read no more."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                for line in self._read():
                    self._put(line)
            except OSError as error:
                logger.error("the kernel log %s cannot be read (%s)", self._where, error)  # noqa: TRY400  (the reason is all there is)
            if self._once or self._where == STDIN:
                return
            self._stop.wait(LOOK_SECONDS * 10)

    def _put(self, line: str) -> None:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            logger.warning("the kernel log comes faster than it can be read; a line was passed over")

    def _read(self) -> Iterator[str]:
        if self._where == STDIN:
            return iter(sys.stdin)
        return self._records() if self._where == KMSG else self._growing(Path(self._where))

    def _records(self) -> Iterator[str]:
        """Each read of /dev/kmsg gives one record, from the oldest that the kernel still has."""
        file = os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK)
        try:
            while not self._stop.is_set():
                try:
                    record = os.read(file, RECORD)
                except BlockingIOError:
                    if self._once:
                        return
                    self._stop.wait(LOOK_SECONDS)
                    continue
                except BrokenPipeError:  # records were overwritten before they were read
                    continue
                yield record.decode("utf-8", "replace").partition("\n")[0]
        finally:
            os.close(file)

    def _growing(self, path: Path) -> Iterator[str]:
        """A file as it grows; one that is replaced or cut short is begun anew."""
        with path.open(encoding="utf-8", errors="replace") as file:
            known = os.fstat(file.fileno()).st_ino
            part = ""
            while not self._stop.is_set():
                part += file.readline()
                if part.endswith("\n"):
                    yield part
                    part = ""
                    continue
                if self._once:
                    yield from (part,) if part else ()
                    return
                time.sleep(LOOK_SECONDS)
                if not path.exists() or path.stat().st_ino != known or path.stat().st_size < file.tell():
                    return


def boot_id() -> str:
    """The id of this boot, by which positions in /dev/kmsg are unique; "" where the kernel gives none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeError):
        return ""

"""The agent's loop: look, keep, send."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Iterable, Sequence

from clusters.domain.ids import SECOND
from clusters.signals.model import Signal
from slicekeeper_agent.gpus import output_of, source_of
from slicekeeper_agent.kernel_log import KernelLog, boot_id
from slicekeeper_agent.looking import Looking, text_of, wire
from slicekeeper_agent.options import Options, parse_options
from slicekeeper_agent.sending import Sender, make_opener
from slicekeeper_agent.spool import Spool

logger = logging.getLogger("slicekeeper_agent")

STEP_SECONDS = 0.2
MEBIBYTE = 1024 * 1024
#: How long `--once` tries to send before it gives up; what waits stays in the spool.
LAST_SECONDS = 30.0


class Agent:
    """All parts of one agent."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._gpus = source_of(options)
        self._stop = threading.Event()
        self._spool = Spool(options.state, int(options.spool_mib * MEBIBYTE))
        booted_at = int((time.time() - time.monotonic()) * SECOND)
        self._looking = Looking(options.node, product=options.product, boot=boot_id(), booted_at=booted_at)
        self._log = KernelLog(options.kernel_log, once=options.once)
        url = f"{options.url}/api/v1/clusters/{options.cluster}/signals/"
        self._sender = Sender(url=url, token=options.token, feed=f"agent/{options.node}", opener=make_opener())
        self._report_due = self._beat_due = self._send_due = 0.0

    def stop(self) -> None:
        """End after this step."""
        self._stop.set()

    def run(self) -> int:
        """Until told to stop; the exit status is 1 if something waits still."""
        try:
            if self._options.once:
                self._once()
            while not self._options.once and not self._stop.is_set():
                self.step(time.monotonic())
                self._stop.wait(STEP_SECONDS)
            return 1 if len(self._spool) else 0
        finally:
            self._log.stop()
            self._spool.close()

    def step(self, now: float) -> None:
        """Whatever is due."""
        self._keep(self._looking.kernel(self._log.lines()))
        if now >= self._report_due:
            self._report_due = now + self._options.every_s
            self._report(now)
        if now >= self._beat_due:
            self._beat_due = now + self._options.heartbeat_s
            self._keep((self._looking.heartbeat(self._options.heartbeat_s),))
        if len(self._spool) and now >= self._send_due:
            self._sender.send(self._spool)
            self._send_due = now + self._sender.pause

    def _once(self) -> None:
        end = time.monotonic() + LAST_SECONDS
        while not self._log.ended() and time.monotonic() < end:
            self._stop.wait(STEP_SECONDS / 10)
        self.step(time.monotonic())
        while len(self._spool) and time.monotonic() < end and not self._stop.is_set():
            if not self._sender.send(self._spool):
                self._stop.wait(self._sender.pause)

    def _report(self, now: float) -> None:
        if self._gpus is not None:
            report, name = self._gpus.look(), self._gpus.name
            self._keep(self._looking.failed(name, report.failed) if report.failed else self._looking.worked(name))
            if not report.failed:
                self._keep(self._looking.report(report.parsed, report.product, now))
        if self._options.imex:
            text, failed = output_of(self._options.imex)
            self._keep(self._looking.imex(failed or text))

    def _keep(self, signals: Iterable[Signal]) -> None:
        now = text_of(int(time.time() * SECOND))
        for found in signals:
            self._spool.add(wire(found, now))
        if self._spool.dropped:
            logger.error("%d signals were dropped: more than --spool-mib waited to be sent", self._spool.dropped)
            self._spool.dropped = 0


def main(arguments: Sequence[str]) -> int:
    """The command."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    try:
        agent = Agent(parse_options(arguments))
    except LookupError as error:
        logger.error("the agent cannot read the GPUs by NVML: %s; install it, or choose another --gpu-source", error)  # noqa: TRY400
        return 2
    except OSError as error:
        logger.error("the agent cannot start (%s); give a directory that it may write to with --state", error)  # noqa: TRY400
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    return agent.run()

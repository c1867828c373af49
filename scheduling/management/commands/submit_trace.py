"""`manage.py submit_trace`: play a trace of jobs on a simulated cluster, and watch it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, close_old_connections

from clusters.connectors.lease import driven_at
from clusters.domain.errors import ClusterError
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from clusters.management.telling import in_words
from scheduling.simulator.planning import TracePlan, check_options
from scheduling.simulator.playing import trace_play
from scheduling.simulator.report import lines_of
from scheduling.simulator.traces import Trace, read_trace
from scheduling.simulator.watching import Watch

#: How long to wait for a process that drives the fleet.
PATIENCE_SECONDS = 10.0
NOT_DRIVEN = 2  # exit code

LOOK_SECONDS = 0.25
#: After trouble with the database.
RETRY_SECONDS = 2.0


class Command(BaseCommand):
    """Ctrl-C stops the watching only: the fleet goes on, and the same command watches it again."""

    help = "Play a trace of jobs on a simulated cluster and follow it until all its jobs have ended."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", help="CSV with the columns job, submit_s, kind, gpus, duration_s, status or submit_s, duration_s, gpus, vc"
        )
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--speed", type=float, required=True, help="cluster seconds a wall second")
        parser.add_argument("--days", type=float, help="play the first so many cluster days")
        parser.add_argument("--load", type=float, help="GPU-hours offered of all GPU-hours; submission times are scaled to it")
        parser.add_argument("--json", action="store_true", help="print nothing but the result, as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        cluster: str = options["cluster"]
        try:
            check_options(speed=options["speed"], load=options["load"], days=options["days"])
            trace = read_trace(Path(options["file"]).read_bytes())
            default_log().head(cluster)
            self._wait_for_driver(cluster)
            plan = trace_play(cluster=cluster, trace=trace, speed=options["speed"], load=options["load"], days=options["days"])
        except (ClusterError, OSError) as error:
            raise CommandError(in_words(error)) from error
        if not options["json"]:
            self._say_plan(cluster, trace, plan, options["speed"])
        if plan is not None and not plan.items:
            raise CommandError(f"nothing was submitted: none of the {len(trace.jobs)} jobs of the file can be played on {cluster}")
        watch = Watch(cluster, trace.digest)
        try:
            self._follow(watch, quiet=options["json"])
        except KeyboardInterrupt:
            self.stderr.write(f"\nno longer watching; {cluster} goes on, and the same command watches it again")
            return
        summary = {"cluster": cluster, "plan": trace.digest, "refused": plan.refused if plan else {}, **watch.report.summary()}
        self.stdout.write(json.dumps(summary, indent=2) if options["json"] else "\n".join(lines_of(summary)))

    def _wait_for_driver(self, cluster: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while driven_at(cluster, wall_now()) is None:
            if time.monotonic() > deadline:
                raise CommandError(
                    f"nothing drives the fleet of {cluster}: start `make run` (or `manage.py serve`; or `manage.py run_fleets` and a "
                    "worker) with the same settings, then submit again",
                    returncode=NOT_DRIVEN,
                )
            time.sleep(LOOK_SECONDS)

    def _say_plan(self, cluster: str, trace: Trace, plan: TracePlan | None, speed: float) -> None:
        if plan is None:
            self.stdout.write(f"this file was submitted to {cluster} before; nothing new was submitted")
            return
        self.stdout.write(
            f"{len(plan.items)} of {len(trace.jobs)} jobs planned on {cluster}, at {speed:g} times wall speed; the file's own load is "
            f"{plan.own_load:.3f}, times of submission are multiplied by {plan.stretch:.4f}"
        )
        for reason, jobs in plan.refused.items():
            self.stdout.write(f"left out: {jobs} job{'s' if jobs > 1 else ''} of {reason}")

    def _follow(self, watch: Watch, *, quiet: bool) -> None:
        terminal = self.stdout.isatty() and not quiet
        told = 0.0
        while True:
            try:
                done = watch.look()
            except OperationalError as error:
                self.stderr.write(f"the database does not answer ({error}); trying again")
                close_old_connections()
                time.sleep(RETRY_SECONDS)
                continue
            now = time.monotonic()
            if not quiet and (terminal or done or now - told >= 5):
                told = now
                self.stdout.write(("\r" if terminal else "") + watch.line(), ending="" if terminal and not done else "\n")
                self.stdout.flush()
            if done:
                return
            time.sleep(LOOK_SECONDS)

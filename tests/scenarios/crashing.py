"""The process that S10 kills: `python -m tests.scenarios.crashing CLUSTER DIRECTORY`. It carries out the last event before all others."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from clusters.connectors.local.driver import LocalDriver
from clusters.connectors.local.program import Program
from clusters.domain.job_events import JobPlaced

#: Notes each start, and runs until it is stopped.
RUNS = 'echo "$SLICEKEEPER_JOB $$" >> "$STARTS"; while :; do sleep 0.05; done'


def program_in(directory: Path) -> Program:
    """What each job runs."""
    env = {"STARTS": str(directory / "starts"), "PATH": os.environ["PATH"]}
    return Program(argv=("/bin/sh", "-c", RUNS), directory=directory, env=env)


def main(cluster: str, directory: Path) -> None:
    """Say when it is ready, wait for three placements, carry out the third, say so, and wait for the end."""
    import django  # only this process sets it up by itself

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from clusters.eventlog.database import DatabaseLog  # Django is set up first

    log = DatabaseLog()
    driver = LocalDriver(log, cluster, program_in(directory))
    start = log.head(cluster)
    _say(ready=True)
    while len(placed := [event for event in log.read(cluster, start) if isinstance(event.payload, JobPlaced)]) < 3:
        time.sleep(0.01)
    driver._take(placed[2])
    starts = directory / "starts"
    while driver.fleet.busy or not (starts.exists() and starts.read_text().endswith("\n")):
        driver.fleet.pump(0.05)
    _say(started=driver.fleet.pids_of(f"{getattr(placed[2].payload, 'job', '')}"))
    while True:
        time.sleep(1)


def _say(**values: object) -> None:
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

"""`python -m slicekeeper_worker`: the same from a shell. What it prints is JSON, one object a line; errors go to standard error.

assignment      where the job runs
watch           that, now and after each change, until the job is over
checkpoint      progress is safe up to a step
health          something is wrong with this node, or well again
run -- PROGRAM  run a program, started anew with each assignment
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from slicekeeper_worker.api import Api, ApiError, Unreachable
from slicekeeper_worker.assignment import Assignment
from slicekeeper_worker.runner import run
from slicekeeper_worker.worker import WAIT, JobOver, NotPlaced, ask_assignment, join, tell_checkpoint, tell_health


def main(words: list[str] | None = None) -> int:
    """Returns the code to end with: 0, 1 where the control plane refused or did not answer, 2 where something is missing or wrong."""
    options = _parser().parse_args(words)
    missing = [name for name in ("url", "token", "cluster", *options.needs) if not getattr(options, name)]
    if missing:
        print(f"say {', '.join(f'--{name} or SLICEKEEPER_{name.upper()}' for name in missing)}", file=sys.stderr)
        return 2
    try:
        api = Api(url=options.url, token=options.token, cluster=options.cluster, patience=options.patience)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        command: Callable[[Api, argparse.Namespace], int] = options.command
        return command(api, options)
    except (ApiError, Unreachable, NotPlaced) as error:
        print(error, file=sys.stderr)
        return 1
    except JobOver as over:
        print(over, file=sys.stderr)
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="slicekeeper-worker", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, meaning in (
        ("url", "where the control plane answers"), ("token", "a token of it"), ("cluster", "the cluster"), ("job", "the job"),
        ("node", "the node that this runs on"),
    ):  # fmt: skip
        variable = f"SLICEKEEPER_{name.upper()}"
        parser.add_argument(f"--{name}", default=os.environ.get(variable, ""), help=f"{meaning} ({variable})")
    parser.add_argument("--patience", type=float, default=60.0, metavar="SECONDS", help="for which a call is tried again (60)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Callable[[Api, argparse.Namespace], int], meaning: str, *needs: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=meaning, description=meaning)
        made.set_defaults(command=command, needs=needs)
        return made

    assignment = add("assignment", _assignment, "print where the job runs", "job")
    assignment.add_argument("--after", type=int, default=0, metavar="GENERATION", help="what changed since this one")
    assignment.add_argument("--wait", type=int, default=0, metavar="SECONDS", help="for a later one")
    add("watch", _watch, "print where the job runs, now and after each change, until it is over", "job")
    checkpoint = add("checkpoint", _checkpoint, "report that progress is safe up to a step", "job")
    checkpoint.add_argument("--step", type=int, required=True)
    checkpoint.add_argument("--generation", type=int, help="under which it was saved (the present one)")
    health = add("health", _health, "report the health of this node", "node")
    health.add_argument("kind", choices=("fatal", "soft", "degraded", "info", "recovered"))
    health.add_argument("--code", default="worker", help="what it is (worker); recovered takes back what was said under the same")
    health.add_argument("--text", default="", help="in words")
    runs = add("run", _run, "run a program, started anew with each assignment", "job", "node")
    runs.add_argument("--grace", type=float, default=20.0, metavar="SECONDS", help="that it has to stop by itself (20)")
    runs.add_argument("program", nargs="+", help="write -- before it")
    return parser


def _assignment(api: Api, options: argparse.Namespace) -> int:
    _print(ask_assignment(api, options.job, options.after, options.wait))
    return 0


def _watch(api: Api, options: argparse.Namespace) -> int:
    known = -1
    while True:
        assignment = ask_assignment(api, options.job, max(0, known), 0 if known < 0 else WAIT)
        if assignment.generation > known or assignment.over:
            _print(assignment)
        if assignment.over:
            return 0
        known = assignment.generation


def _checkpoint(api: Api, options: argparse.Namespace) -> int:
    tell_checkpoint(api, options.job, options.generation, options.step)
    return 0


def _health(api: Api, options: argparse.Namespace) -> int:
    tell_health(api, options.node, kind=options.kind, code=options.code, text=options.text)
    return 0


def _run(api: Api, options: argparse.Namespace) -> int:
    return run(join(options.job, options.node, api), options.program, options.grace)


def _print(assignment: Assignment) -> None:
    plain: dict[str, Any] = asdict(assignment)
    print(json.dumps(plain), flush=True)


if __name__ == "__main__":
    sys.exit(main())

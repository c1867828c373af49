"""`manage.py submit FILE.json --cluster NAME`: submit jobs as the API takes them, without a server."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.commands import Command as Submission
from clusters.domain.commands import SubmitJob, SubmitJobs
from clusters.domain.decision import Refusal
from clusters.domain.errors import ClusterError, InvalidRequest
from clusters.domain.jobs import JobRequest
from clusters.management.telling import in_words
from frontend.api.errors import FieldError, Invalid, TooLarge, Unreadable
from frontend.api.fields import checked
from frontend.api.jobchanges import JobsInput, job_requests
from frontend.api.jobinput import JobInput
from frontend.api.parsers import ManyJSONParser
from frontend.jobrequests import request_of
from frontend.selectors.clusters import reading
from frontend.selectors.preview import Forecast, forecast
from scheduling.domain.refusals import explain
from scheduling.services import command_commit, command_rehearse

#: Of whom jobs are that no user is named for.
UNNAMED = "command line"


class Command(BaseCommand):
    """A server, or a worker, places what was submitted."""

    help = "Submit a job, or many: one JSON object as the API takes it, or an object with a list `jobs`, all of them or none."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON; - reads it from the standard input")
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--by", default=UNNAMED, metavar="NAME", help="the user whose jobs they are (%(default)s)")
        parser.add_argument("--dry-run", action="store_true", help="say how they would be cut and whether there is room; submit nothing")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of sentences")

    def handle(self, *_args: Any, **options: Any) -> None:
        cluster: str = options["cluster"]
        if options["by"] != UNNAMED and not User.objects.filter(username=options["by"], is_active=True).exists():
            raise CommandError(
                f"--by: there is no active user {options['by']!r}; checkpoints are taken only of a user whom a token acts for"
            )
        try:
            requests, many = read_requests(_body(options["file"]))
            submission: Submission = SubmitJobs(requests=requests, by=options["by"])
            if not many:
                submission = SubmitJob(request=requests[0], by=options["by"])
            answer = _rehearsed(cluster, requests, submission) if options["dry_run"] else _submitted(cluster, submission, options["by"])
        except (Invalid, InvalidRequest) as error:
            raise CommandError("\n".join(_wrong(error))) from error
        except (ClusterError, TooLarge, Unreadable) as error:
            raise CommandError(in_words(error)) from error
        told = answer.pop("told")
        self.stdout.write(json.dumps(answer, indent=2) if options["json"] else "\n".join(told))


def read_requests(body: bytes) -> tuple[tuple[JobRequest, ...], bool]:
    """The requests of a body, and whether it is a list of them; raises Invalid, InvalidRequest, TooLarge, Unreadable."""
    plain = ManyJSONParser().parse(io.BytesIO(body))
    if isinstance(plain, dict) and "jobs" in plain:
        return job_requests(checked(JobsInput, plain)["jobs"]), True
    return (request_of(checked(JobInput, plain)),), False


def _body(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandError(f"FILE: {file!r} cannot be read ({error.strerror}); give the path of a file, or -") from error


def _submitted(cluster: str, submission: Submission, by: str) -> dict[str, Any]:
    outcome = command_commit(cluster=cluster, command=submission, by=by)
    if isinstance(outcome, Refusal):
        raise CommandError(explain(outcome))
    names = [event.subject for event in outcome.events]
    return {"jobs": names, "told": [f"submitted {name}" for name in names]}


def _rehearsed(cluster: str, requests: tuple[JobRequest, ...], submission: Submission) -> dict[str, Any]:
    outcome = command_rehearse(cluster=cluster, command=submission)
    if isinstance(outcome, Refusal):
        raise CommandError(explain(outcome))
    with reading(cluster) as state:
        forecasts = [forecast(state, request) for request in requests]
    told = [found.text if isinstance(found, Forecast) else explain(found) for found in forecasts]
    return {"dry_run": True, "jobs": [msgspec.to_builtins(found) for found in forecasts], "told": told}


def _wrong(error: Invalid | InvalidRequest) -> list[str]:
    fields = error.errors if isinstance(error, Invalid) else [FieldError(error.field, error.value, error.expected)]
    return [f"{wrong.field or 'file'}: {wrong.expected}" for wrong in fields]

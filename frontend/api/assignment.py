"""For the workers of a job: where it runs, by a request that waits for the next assignment; and what they report."""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import ReportCheckpoint
from clusters.domain.ids import LAST_INSTANT
from clusters.domain.job_events import CheckpointReported
from frontend.accounts.access import caller_of
from frontend.accounts.jobs import require_job
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Either, Rehearsal, give
from frontend.api.fields import Input, WholeNumber, checked
from frontend.live.follow import MOST_SECONDS, nothing_yet
from frontend.selectors.assignment import Assignment, assignment_of

MOST = 10**15


class AssignmentQuery(Input):
    """Which change of the assignment."""

    after = WholeNumber(0, MOST, default=0, help_text="the generation that the caller knows; 0 = none")
    wait = WholeNumber(0, MOST_SECONDS, default=0, help_text="seconds to wait for a later one where there is none yet")


class CheckpointInput(Input):
    """Progress that was saved."""

    step = WholeNumber(0, MOST, help_text="up to which it was saved")
    at_us = WholeNumber(0, LAST_INSTANT, required=False, help_text="cluster time at which what was saved was true; default: now")
    generation = WholeNumber(0, MOST, required=False, help_text="under which it was saved; one that is no longer present is refused")


class SavedCheckpoint(msgspec.Struct, frozen=True):
    """The checkpoint as it was noted."""

    job: str
    generation: int
    step: int
    at_us: int | None  # none: now


class AssignmentView(ApiView):
    """Where a job runs."""

    @extend_schema(
        operation_id="jobs_assignment",
        parameters=[AssignmentQuery],
        responses=Assignment,
        description="Which node has which slot and rank, and who is new, stays or has left since generation `after`. With `wait` it is "
        "answered once there is a later generation, or the job has ended, or the time is up.",
    )
    def get(self, request: Request, cluster: str, job: str) -> Response:
        query = checked(AssignmentQuery, request.query_params)
        after, wait = query["after"], query["wait"]
        assignment, seq = assignment_of(cluster, job, after)
        if wait and assignment.generation <= after and not assignment.over:
            nothing_yet(request._request, cluster=cluster, reached=seq, seconds=wait, assignment=(job, after))
        return answer(assignment)


class CheckpointView(ApiView):
    """A job's progress is safe up to a step."""

    @extend_schema(
        operation_id="jobs_checkpoint",
        request=CheckpointInput,
        responses={200: Either(SavedCheckpoint, Rehearsal)},
        parameters=WRITING,
        description="What a failure costs is counted from the last checkpoint that was reported.",
    )
    def post(self, request: Request, cluster: str, job: str) -> Response:
        caller = caller_of(request)
        require_job(caller, cluster, job)
        values: dict[str, Any] = checked(CheckpointInput, request.data)
        command = ReportCheckpoint(
            job=job, step=values["step"], by=caller.name, at=values.get("at_us"), generation=values.get("generation")
        )
        done = give(request, cluster, command)
        if isinstance(done, Rehearsal):
            return answer(done)
        saved = done.events[0].payload
        assert isinstance(saved, CheckpointReported)
        return answer(SavedCheckpoint(saved.job, saved.generation, saved.step, saved.at))

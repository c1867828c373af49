"""Jobs: submit many at once, cancel, hold, release, change the priority."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import CancelJob, ChangePriority, Command, HoldJob, ReleaseJob, SubmitJobs
from clusters.domain.errors import InvalidRequest
from clusters.domain.jobs import PRIORITY_RANGE, JobRequest
from clusters.eventlog.port import Committed
from frontend.accounts.access import caller_of
from frontend.accounts.jobs import require_job
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Either, Rehearsal, give
from frontend.api.errors import FieldError, Invalid, Refused, refused_fields, shown
from frontend.api.fields import Input, SeveralInputs, WholeNumber, checked
from frontend.api.jobinput import JobInput
from frontend.api.jobs import facts_of
from frontend.api.nodes import Reason
from frontend.api.parsers import ManyJSONParser
from frontend.jobrequests import request_of
from frontend.selectors.clusters import reading
from frontend.selectors.jobs import JobFacts
from scheduling.domain.job_commands import never_fitting
from scheduling.domain.refusals import INFEASIBLE

MOST_AT_ONCE = 1_000


class JobsInput(Input):
    """Jobs to submit."""

    jobs = SeveralInputs(JobInput(), 1, MOST_AT_ONCE)


class PriorityInput(Input):
    """The new priority."""

    priority = WholeNumber(*PRIORITY_RANGE, help_text="higher goes first, equal ones by age")


class SubmittedJob(msgspec.Struct, frozen=True):
    """A job that was submitted."""

    id: str
    name: str


class SubmittedJobs(msgspec.Struct, frozen=True):
    """The jobs in the order in which they were given."""

    items: list[SubmittedJob]


class JobBulkView(ApiView):
    """Submit many jobs: all of them, or none."""

    parser_classes = [ManyJSONParser]

    @extend_schema(
        operation_id="jobs_submit_many",
        request=JobsInput,
        responses={201: SubmittedJobs, 200: Rehearsal},
        parameters=WRITING,
        description="All of them are submitted, or none: what is wrong is named by its place, as in jobs[3].nodes.",
    )
    def post(self, request: Request, cluster: str) -> Response:
        requests = job_requests(checked(JobsInput, request.data)["jobs"])
        try:
            done = give(request, cluster, SubmitJobs(requests=requests, by=caller_of(request).name))
        except Refused as refused:
            if refused.refusal.code == INFEASIBLE:
                raise Refused(refused.refusal, _never(cluster, requests)) from None
            raise
        if isinstance(done, Rehearsal):
            return answer(done)
        jobs = zip(done.events, requests, strict=True)
        return answer(SubmittedJobs([SubmittedJob(event.subject, wanted.name) for event, wanted in jobs]), 201)


class JobVerbView(ApiView):
    """Cancel a job, hold it back or let it go."""

    @extend_schema(operation_id="jobs_do", request=Reason, responses={200: Either(JobFacts, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str, job: str, verb: str) -> Response:
        require_job(caller_of(request), cluster, job)
        reason = checked(Reason, request.data)["reason"]
        done = give(request, cluster, VERBS[verb](job=job, by=caller_of(request).name, reason=reason))
        return _told(done, cluster, job)


class JobPriorityView(ApiView):
    """Change the priority of a job; its place in the queue follows."""

    @extend_schema(operation_id="jobs_prioritize", request=PriorityInput, responses={200: Either(JobFacts, Rehearsal)}, parameters=WRITING)
    def post(self, request: Request, cluster: str, job: str) -> Response:
        require_job(caller_of(request), cluster, job)
        priority = checked(PriorityInput, request.data)["priority"]
        done = give(request, cluster, ChangePriority(job=job, priority=priority, by=caller_of(request).name))
        return _told(done, cluster, job)


VERBS: dict[str, Callable[..., Command]] = {"cancel": CancelJob, "hold": HoldJob, "release": ReleaseJob}


def _told(done: Committed | Rehearsal, cluster: str, job: str) -> Response:
    return answer(done if isinstance(done, Rehearsal) else facts_of(cluster, job))


def job_requests(items: list[dict[str, Any]]) -> tuple[JobRequest, ...]:
    """The domain's requests; raises Invalid, which names every one that is wrong."""
    requests: list[JobRequest] = []
    errors: list[FieldError] = []
    for place, values in enumerate(items):
        try:
            requests.append(request_of(values))
        except InvalidRequest as error:
            errors.append(FieldError(f"jobs[{place}].{error.field}", shown(error.value), error.expected))
    if errors:
        raise Invalid(errors)
    return tuple(requests)


def _never(cluster: str, requests: tuple[JobRequest, ...]) -> list[FieldError]:
    """Every request that the cluster could never serve."""
    with reading(cluster) as state:
        refused = never_fitting(state, requests)
    return [error for refusal in refused.values() for error in refused_fields(refusal)]

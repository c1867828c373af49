"""Jobs: list, submit, preview, look at."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import SubmitJob
from clusters.domain.constraints import MAX_NAME
from clusters.domain.decision import Refusal
from clusters.domain.jobs import JobKind, JobState
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Rehearsal, give
from frontend.api.errors import Refused
from frontend.api.fields import Input, OneOf, Shaped, Text, WholeNumber, checked
from frontend.api.jobinput import JOB_ID, SUCH_AS, JobInput, Size, Wanted
from frontend.jobrequests import request_of
from frontend.selectors.clusters import reading
from frontend.selectors.jobs import JobFacts, JobFilter, JobPage, job_events, job_facts, jobs_page
from frontend.selectors.preview import Forecast, forecast
from scheduling.why import JobWhy, job_why

MOST_JOBS = 200


class JobsQuery(Input):
    """Which jobs."""

    state = OneOf(JobState, default="")
    kind = OneOf(JobKind, default="")
    team = Text(MAX_NAME, default="")
    before = Shaped(JOB_ID, SUCH_AS, help_text="the last job of the page before")
    limit = WholeNumber(1, MOST_JOBS, default=50)


class JobListView(ApiView):
    """The jobs of a cluster."""

    @extend_schema(operation_id="jobs_list", parameters=[JobsQuery], responses=JobPage)
    def get(self, request: Request, cluster: str) -> Response:
        query = checked(JobsQuery, request.query_params)
        chosen = JobFilter(
            states=tuple(map(JobState, filter(None, [query["state"]]))),
            kinds=tuple(map(JobKind, filter(None, [query["kind"]]))),
            teams=tuple(filter(None, [query["team"]])),
        )
        return answer(jobs_page(cluster, chosen, before=int(query["before"][1:]) if query["before"] else None, limit=query["limit"]))

    @extend_schema(
        operation_id="jobs_submit",
        request=JobInput,
        responses={201: JobFacts, 200: Rehearsal},
        parameters=WRITING,
    )
    def post(self, request: Request, cluster: str) -> Response:
        wanted = request_of(checked(JobInput, request.data))
        done = give(request, cluster, SubmitJob(request=wanted, by=caller_of(request).name))
        if isinstance(done, Rehearsal):
            return answer(done)
        job = done.events[0].subject
        return answer(facts_of(cluster, job), 201, {"Location": reverse("api:job", args=(cluster, job))})


class JobPreviewView(ApiView):
    """How a job would be cut, and whether it could start now."""

    @extend_schema(operation_id="jobs_preview", parameters=[Size], responses=Forecast)
    def get(self, request: Request, cluster: str) -> Response:
        query = request.query_params.copy()
        for name in JobInput().fields.keys() - Size().fields.keys():  # of a whole job, what its placement does not depend on
            query.pop(name, None)
        return _forecast(cluster, checked(Size, query))

    @extend_schema(operation_id="jobs_preview_all", request=Wanted, responses=Forecast)
    def post(self, request: Request, cluster: str) -> Response:
        return _forecast(cluster, checked(Wanted, request.data))


class JobView(ApiView):
    """One job."""

    @extend_schema(operation_id="jobs_get", responses=JobFacts)
    def get(self, request: Request, cluster: str, job: str) -> Response:
        return answer(facts_of(cluster, job))


class JobWhyView(ApiView):
    """Why a job waits, and what would let it start."""

    @extend_schema(operation_id="jobs_why", responses=JobWhy)
    def get(self, request: Request, cluster: str, job: str) -> Response:
        return answer(job_why(cluster, job))


def _forecast(cluster: str, values: dict[str, Any]) -> Response:
    wanted = request_of({"name": "preview", "kind": JobKind.BATCH, **values})
    with reading(cluster) as state:
        outcome = forecast(state, wanted)
    if isinstance(outcome, Refusal):
        raise Refused(outcome)
    return answer(outcome)


def facts_of(cluster: str, job: str) -> JobFacts:
    """All that is known of a job; raises UnknownCluster, UnknownSubject."""
    events = job_events(cluster, job)
    with reading(cluster) as state:
        return job_facts(state, events)

"""Jobs: list, submit, preview, look at."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from clusters.domain.commands import SubmitJob
from clusters.domain.constraints import MAX_NAME, MAX_NODES
from clusters.domain.decision import Refusal
from clusters.domain.jobs import (
    MAX_SECONDS,
    PRIORITY_RANGE,
    JobKind,
    JobRequest,
    JobState,
    Recovery,
    default_restartable,
)
from frontend.accounts.access import caller_of
from frontend.api.base import ApiView, answer
from frontend.api.commands import WRITING, Rehearsal, give
from frontend.api.errors import Refused
from frontend.api.fields import Input, OneOf, Shaped, Switch, Text, WholeNumber, checked
from frontend.selectors.clusters import reading
from frontend.selectors.jobs import JobFacts, JobFilter, JobPage, job_events, job_facts, jobs_page
from frontend.selectors.preview import Forecast, forecast

MOST_JOBS = 200
JOB_ID = "j[0-9]{6,18}"
SUCH_AS = "give the id of a job, such as j000123"
MOST_GPUS = MAX_NODES * 8


class Size(Input):
    """How much, and how it may be cut."""

    nodes = WholeNumber(1, MAX_NODES, required=False, allow_null=True, help_text="whole nodes; give either nodes or gpus")
    gpus = WholeNumber(
        1, MOST_GPUS, required=False, allow_null=True, help_text="GPUs of one node; a node's worth or more takes whole nodes"
    )
    slice_size = WholeNumber(1, MAX_NODES, required=False, allow_null=True, help_text="slices are whole multiples of so many nodes")
    max_slice = WholeNumber(1, MAX_NODES, required=False, allow_null=True, help_text="the most nodes a slice may have")
    tail = Switch(default=False, help_text="allow a last slice that is no multiple of slice_size")
    spares = WholeNumber(
        0, MAX_NODES, required=False, allow_null=True, help_text="spares owed to each of its domains, instead of the policy's"
    )


class JobInput(Size):
    """A job to submit."""

    name = Text(MAX_NAME, least=1)
    kind = OneOf(JobKind)
    team = Text(MAX_NAME, default="")
    priority = WholeNumber(*PRIORITY_RANGE, default=0)
    restartable = Switch(required=False, help_text="true, but for interactive jobs")
    expected_run_s = WholeNumber(1, MAX_SECONDS, required=False, allow_null=True)
    checkpoint_interval_s = WholeNumber(1, MAX_SECONDS, required=False, allow_null=True)
    recovery = OneOf(Recovery, default=Recovery.CHECKPOINT.value, help_text="where a replaced node takes its state from")
    held = Switch(default=False, help_text="submit on hold")


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
        wanted = job_request(checked(JobInput, request.data))
        done = give(request, cluster, SubmitJob(request=wanted, by=caller_of(request).name))
        if isinstance(done, Rehearsal):
            return answer(done)
        job = done.events[0].subject
        return answer(facts_of(cluster, job), 201, {"Location": reverse("api:job", args=(cluster, job))})


class JobPreviewView(ApiView):
    """How a job would be cut, and whether it could start now."""

    @extend_schema(operation_id="jobs_preview", parameters=[Size], responses=Forecast)
    def get(self, request: Request, cluster: str) -> Response:
        known = {name: values for name, values in request.query_params.lists() if name in Size().fields}
        query = request.query_params.copy()
        query.clear()
        for name, values in known.items():
            query.setlist(name, values)
        wanted = JobRequest(name="preview", kind=JobKind.BATCH, **checked(Size, query))
        with reading(cluster) as state:
            outcome = forecast(state, wanted)
        if isinstance(outcome, Refusal):
            raise Refused(outcome)
        return answer(outcome)


class JobView(ApiView):
    """One job."""

    @extend_schema(operation_id="jobs_get", responses=JobFacts)
    def get(self, request: Request, cluster: str, job: str) -> Response:
        return answer(facts_of(cluster, job))


def job_request(values: dict[str, Any]) -> JobRequest:
    """The domain's request; raises InvalidRequest for what only the fields together show."""
    kind = JobKind(values.pop("kind"))
    values.setdefault("restartable", default_restartable(kind))
    return JobRequest(kind=kind, recovery=Recovery(values.pop("recovery")), **values)


def facts_of(cluster: str, job: str) -> JobFacts:
    """All that is known of a job; raises UnknownCluster, UnknownSubject."""
    events = job_events(cluster, job)
    with reading(cluster) as state:
        return job_facts(state, events)

"""Jobs: the list, one job, and the form that submits one."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from clusters.domain.decision import Refusal
from clusters.domain.state import ClusterState
from frontend.accounts.access import caller_of
from frontend.pages.base import frame, page, part, switcher
from frontend.pages.forms import JobForm
from frontend.pages.joblist import filters_context, read_query, rows_context
from frontend.pages.jobview import job_context
from frontend.pages.plannotes import job_notes
from frontend.pages.whyview import why_context
from frontend.selectors.clusters import now_of, reading
from frontend.selectors.jobs import job_events
from frontend.selectors.preview import forecast
from scheduling.domain.refusals import explain
from scheduling.services import job_submit
from scheduling.why import job_why


@require_safe
@page
def jobs_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The list with its filters."""
    query = read_query(request.GET)
    with reading(cluster) as state:
        context, now = frame(state, "jobs"), now_of(state)
    context |= switcher() | rows_context(cluster, query, now) | filters_context(cluster, query)
    return render(request, "frontend/jobs.html", context)


@require_safe
@page
def rows_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """The rows alone."""
    with reading(cluster) as state:
        now = now_of(state)
    return render(request, "frontend/_jobs_table.html", part(cluster) | rows_context(cluster, read_query(request.GET), now))


@require_safe
@page
def job_page(request: HttpRequest, cluster: str, job: str) -> HttpResponse:
    """The page of a job."""
    events = job_events(cluster, job)
    with reading(cluster) as state:
        context = frame(state, "jobs") | job_context(state, events, caller_of(request)) | job_notes(state, job)
    return render(request, "frontend/job.html", context | switcher())


@require_safe
@page
def job_part(request: HttpRequest, cluster: str, job: str) -> HttpResponse:
    """What changes on it."""
    events = job_events(cluster, job)
    with reading(cluster) as state:
        context = part(cluster) | job_context(state, events, caller_of(request))
    return render(request, "frontend/_job_detail.html", context)


@require_safe
@page
def why_part(request: HttpRequest, cluster: str, job: str) -> HttpResponse:
    """What would let the job start; looked for only where somebody looks at it."""
    return render(request, "frontend/_job_why.html", part(cluster) | why_context(job_why(cluster, job)))


@require_http_methods(["GET", "HEAD", "POST"])
@page
def new_page(request: HttpRequest, cluster: str) -> HttpResponse:
    """The form; a job that is accepted leads to its page."""
    with reading(cluster) as state:
        form = _form(state, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        outcome = job_submit(cluster=cluster, request=form.cleaned_data["request"], by=request.user.get_username())
        if not isinstance(outcome, Refusal):
            return redirect("frontend:job", cluster, outcome)
        form.refuse(str(outcome.counts.get("field", "")), str(outcome.counts.get("expected", explain(outcome))))
    with reading(cluster) as state:
        context = frame(state, "jobs")
    return render(request, "frontend/job_new.html", context | switcher() | {"form": form}, status=422 if form.errors else 200)


@require_POST
@page
def preview_part(request: HttpRequest, cluster: str) -> HttpResponse:
    """What the form, as far as it is filled in, would get: {slices, text, wrong}."""
    data = request.POST.copy()
    data["name"] = data.get("name") or "preview"
    with reading(cluster) as state:
        form = _form(state, data)
        if not form.is_valid():
            return JsonResponse({"slices": [], "text": _first_error(form), "wrong": True})
        outcome = forecast(state, form.cleaned_data["request"])
    if isinstance(outcome, Refusal):
        return JsonResponse({"slices": [], "text": explain(outcome), "wrong": True})
    return JsonResponse({"slices": outcome.slices, "text": outcome.text, "wrong": False})


def _form(state: ClusterState, data: QueryDict | None) -> JobForm:
    return JobForm(data, levels=state.topology.levels[:-1], classes=[known.name for known in state.policy.classes])


def _first_error(form: JobForm) -> str:
    field, messages = next(iter(form.errors.items()))
    label = form.fields[field].label if field in form.fields else ""
    return f"{label}: {messages[0]}" if label else str(messages[0])

"""Where each page answers. Below `parts/` are pieces of pages, fetched again when what they show has changed."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from frontend import converters  # noqa: F401 - registers the converters
from frontend.pages import capacity, events, fleet, imports, incidents, jobs, launch, plannotes, plans, policy, racks, signals, spares

parts = [
    path("queue/", fleet.queue_part, name="fleet-queue"),
    path("events/", fleet.events_part, name="fleet-events"),
    path("breaker/", incidents.breaker_part, name="fleet-breaker"),
    path("incidents/", incidents.incidents_part, name="fleet-incidents"),
    path("incident-rows/", incidents.rows_part, name="incidents-rows"),
    path("fleet-plans/", plannotes.fleet_part, name="fleet-plans"),
    path("spares/", spares.spares_part, name="fleet-spares"),
    path("log/", events.rows_part, name="events-rows"),
    path("jobs/", jobs.rows_part, name="jobs-rows"),
    path("jobs/preview/", jobs.preview_part, name="job-preview"),
    path("jobs/<job:job>/", jobs.job_part, name="job-detail"),
    path("jobs/<job:job>/plans/", plannotes.job_part, name="job-plans"),
    path("jobs/<job:job>/why/", jobs.why_part, name="job-why"),
    path("jobs/<job:job>/launch/", launch.launch_part, name="job-launch"),
    path("plans/", plans.rows_part, name="plans-rows"),
    path("plans/<plan:plan>/", plans.plan_part, name="plan-detail"),
    path("racks/<str:rack>/", racks.rack_part, name="rack-detail"),
]

of_cluster: list[URLPattern | URLResolver] = [
    path("", fleet.fleet_page, name="fleet"),
    path("parts/", include(parts)),
    path("jobs/", jobs.jobs_page, name="jobs"),
    path("jobs/new/", jobs.new_page, name="job-new"),
    path("jobs/<job:job>/", jobs.job_page, name="job"),
    path("racks/<str:rack>/", racks.rack_page, name="rack"),
    path("capacity/", capacity.capacity_page, name="capacity"),
    path("plans/", plans.plans_page, name="plans"),
    path("plans/what-if/", plans.what_if_page, name="plan-what-if"),
    path("plans/<plan:plan>/", plans.plan_page, name="plan"),
    path("incidents/", incidents.incidents_page, name="incidents"),
    path("events/", events.events_page, name="events"),
    path("policy/", policy.policy_page, name="policy"),
    path("signals/", signals.signals_page, name="signals"),
]

urlpatterns = [
    path("", fleet.clusters_page, name="clusters"),
    path("import/", imports.import_page, name="import"),
    path("import/<uuid:upload>/", imports.preview_page, name="import-preview"),
    path("clusters/<cluster:cluster>/", include(of_cluster)),
]

"""Where each part of the API answers, below /api/v1/."""

from __future__ import annotations

from django.urls import include, path, re_path

from frontend import converters  # noqa: F401 - registers the converters
from frontend.api.assignment import AssignmentView, CheckpointView
from frontend.api.capacity import CapacityView, SparesView
from frontend.api.clusters import ClusterListView, ClusterView, SnapshotView
from frontend.api.events import EventListView
from frontend.api.incidents import BreakerResetView, BreakerView, IncidentListView
from frontend.api.inventory import InventoryView
from frontend.api.jobchanges import JobBulkView, JobPriorityView, JobVerbView
from frontend.api.jobs import JobListView, JobPreviewView, JobView, JobWhyView
from frontend.api.launch import LaunchView, ParallelView
from frontend.api.nodes import NodeListView, NodeVerbView, NodeView, RackListView, RackView, SwitchVerbView
from frontend.api.plans import PlanListView, PlanVerbView, PlanView, RoomDropView, RoomView
from frontend.api.policy import PolicyHistoryView, PolicyView, TeamListView
from frontend.api.racks import RackRemoveView, RackStateView
from frontend.api.root import NothingHereView, SchemaView
from frontend.api.signals import NodeSignalsView, SignalFormatView, SignalSourcesView, SignalsView
from frontend.api.space import DomainListView, DomainView, SliceListView

of_cluster = [
    path("", ClusterView.as_view(), name="cluster"),
    path("snapshot/", SnapshotView.as_view(), name="snapshot"),
    path("policy/", PolicyView.as_view(), name="policy"),
    path("policy/history/", PolicyHistoryView.as_view(), name="policy-history"),
    path("teams/", TeamListView.as_view(), name="teams"),
    path("inventory/", InventoryView.as_view(), name="inventory"),
    path("events/", EventListView.as_view(), name="events"),
    path("capacity/", CapacityView.as_view(), name="capacity"),
    path("parallel/", ParallelView.as_view(), name="parallel"),
    path("spares/", SparesView.as_view(), name="spares"),
    path("breaker/", BreakerView.as_view(), name="breaker"),
    path("breaker/reset/", BreakerResetView.as_view(), name="breaker-reset"),
    path("incidents/", IncidentListView.as_view(), name="incidents"),
    path("plans/", PlanListView.as_view(), name="plans"),
    path("plans/request/", RoomView.as_view(), name="plans-request"),
    path("plans/request/drop/", RoomDropView.as_view(), name="plans-request-drop"),
    path("plans/<plan:plan>/", PlanView.as_view(), name="plan"),
    path("plans/<plan:plan>/<plan_verb:verb>/", PlanVerbView.as_view(), name="plan-verb"),
    path("signals/", SignalsView.as_view(), name="signals"),
    path("signals/sources/", SignalSourcesView.as_view(), name="signal-sources"),
    path("signals/<signal_format:form>/", SignalFormatView.as_view(), name="signals-format"),
    path("domains/", DomainListView.as_view(), name="domains"),
    path("domains/<str:domain>/", DomainView.as_view(), name="domain"),
    path("slices/", SliceListView.as_view(), name="slices"),
    path("racks/", RackListView.as_view(), name="racks"),
    path("racks/<str:rack>/", RackView.as_view(), name="rack"),
    path("racks/<str:rack>/state/", RackStateView.as_view(), name="rack-state"),
    path("racks/<str:rack>/remove/", RackRemoveView.as_view(), name="rack-remove"),
    path("racks/<str:rack>/switches/<int:tray>/<switch_verb:verb>/", SwitchVerbView.as_view(), name="switch-verb"),
    path("nodes/", NodeListView.as_view(), name="nodes"),
    path("nodes/<str:node>/", NodeView.as_view(), name="node"),
    path("nodes/<str:node>/signals/", NodeSignalsView.as_view(), name="node-signals"),
    path("nodes/<str:node>/<node_verb:verb>/", NodeVerbView.as_view(), name="node-verb"),
    path("jobs/", JobListView.as_view(), name="jobs"),
    path("jobs/preview/", JobPreviewView.as_view(), name="job-preview"),
    path("jobs/bulk/", JobBulkView.as_view(), name="jobs-bulk"),
    path("jobs/<job:job>/", JobView.as_view(), name="job"),
    path("jobs/<job:job>/why/", JobWhyView.as_view(), name="job-why"),
    path("jobs/<job:job>/launch/", LaunchView.as_view(), name="job-launch"),
    path("jobs/<job:job>/assignment/", AssignmentView.as_view(), name="job-assignment"),
    path("jobs/<job:job>/checkpoint/", CheckpointView.as_view(), name="job-checkpoint"),
    path("jobs/<job:job>/priority/", JobPriorityView.as_view(), name="job-priority"),
    path("jobs/<job:job>/<job_verb:verb>/", JobVerbView.as_view(), name="job-verb"),
]

app_name = "api"
urlpatterns = [
    path("schema/", SchemaView.as_view(), name="schema"),
    path("clusters/", ClusterListView.as_view(), name="clusters"),
    path("clusters/<cluster:cluster>/", include(of_cluster)),
    re_path("", NothingHereView.as_view(), name="nothing"),
]

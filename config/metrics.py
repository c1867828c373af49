"""What /metrics shows: the requests and sockets of this process, and the present of every cluster.

Counters and histograms count in this process, so each web process is scraped by itself. What is said of clusters is read at the scrape from
the state and the tables, and is the same from every process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.db import DatabaseError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from clusters.domain.errors import ClusterError
from clusters.domain.ids import SECOND
from clusters.eventlog.log import wall_now
from clusters.signals import figures as signals
from frontend.live.figures import figures
from frontend.selectors.clusters import ClusterSummary, cluster_names, cluster_summary
from tasks.heartbeat import last_beats, of_pass
from tasks.lag import oldest_transaction_s, projection_lags

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})

#: Seconds: pages take a few milliseconds, decisions a few more, imports of whole fleets seconds.
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, for what a scraper knows by itself
registry = CollectorRegistry()
ProcessCollector(registry=registry)
_requests = Counter("slicekeeper_http_requests", "Requests answered by this process", ("route", "method", "status"), registry=registry)
_seconds = Histogram("slicekeeper_http_request_seconds", "Time to answer a request", ("route",), buckets=BUCKETS, registry=registry)
Gauge("slicekeeper_hub_sockets", "Live sockets open in this process", registry=registry).set_function(lambda: figures.sockets)
_build = Gauge("slicekeeper_build", "1, labelled with the version that runs", ("version",), registry=registry)


def count_request(route: str, method: str, status: int, seconds: float) -> None:
    """A request was answered. The route's name, not its path: there are only so many."""
    _requests.labels(route, method if method in METHODS else "other", str(status)).inc()
    _seconds.labels(route).observe(seconds)


def exposition() -> bytes:
    """Everything, in Prometheus' text format."""
    _build.labels(settings.VERSION).set(1)
    return generate_latest(registry)


class HubCollector(Collector):
    """What the hub counts by itself, on its event loop."""

    def collect(self) -> Iterator[Metric]:
        yield CounterMetricFamily("slicekeeper_hub_sockets_opened", "Live sockets opened so far", value=figures.opened)
        yield CounterMetricFamily("slicekeeper_hub_frames_sent", "Frames sent to live sockets", value=figures.frames)
        yield CounterMetricFamily("slicekeeper_hub_resyncs", "Times that all who watch a cluster had to start anew", value=figures.resyncs)


class SignalCollector(Collector):
    """What became of signals: those that changed nothing are counted here and nowhere else."""

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "slicekeeper_signals", "Signals of nodes that came to this process, by what became of them", labels=("cluster", "outcome")
        )
        for (cluster, outcome), number in sorted(signals.counted().items()):
            family.add_metric([cluster, outcome], number)
        yield family


class ClusterCollector(Collector):
    """The present of every cluster. One that cannot be read is left out: its absence is what to alarm on."""

    def collect(self) -> Iterator[Metric]:
        families = _families()
        try:
            names = cluster_names()
            beats = last_beats()
            lags = projection_lags()
            oldest = oldest_transaction_s()
        except DatabaseError:
            families["up"].add_metric([], 0)
            yield families["up"]
            return
        families["up"].add_metric([], 1)
        now = wall_now()
        for name in names:
            try:
                _add_summary(families, cluster_summary(name))
            except (ClusterError, DatabaseError):
                continue
            if (passed := beats.get(of_pass(name))) is not None:
                families["pass_age"].add_metric([name], (now - passed) / SECOND)
        for (cluster, projection), lag in lags.items():
            families["projection_lag"].add_metric([cluster, projection], lag)
        _add_parts(families, {part: (now - at) / SECOND for part, at in beats.items() if "/" not in part}, oldest)
        yield from families.values()


def _families() -> dict[str, GaugeMetricFamily]:
    described = {
        "up": ("slicekeeper_database_up", "Whether the database answered this scrape", ()),
        "oldest": ("slicekeeper_database_oldest_transaction_seconds", "For how long the oldest transaction of PostgreSQL is open", ()),
        "nodes": ("slicekeeper_nodes", "Nodes by condition; sums to all nodes", ("cluster", "condition")),
        "uses": ("slicekeeper_nodes_use", "Nodes by use; sums to all nodes", ("cluster", "use")),
        "jobs": ("slicekeeper_jobs", "Jobs by state: those alive now, and all that ever ended", ("cluster", "state")),
        "lost": (
            "slicekeeper_lost_work_gpu_seconds",
            "Work lost to disruptions, as booked: rolled back, or stood still",
            ("cluster", "team", "cause", "what"),
        ),
        "head": ("slicekeeper_log_head", "Position of the last event", ("cluster",)),
        "fleet_lag": ("slicekeeper_fleet_lag_seconds", "How far a simulated fleet is behind its clock", ("cluster",)),
        "projection_lag": ("slicekeeper_projection_lag_events", "Events not yet in the lists", ("cluster", "projection")),
        "pass_age": ("slicekeeper_pass_age_seconds", "Time since a worker last looked at the cluster", ("cluster",)),
        "part_age": ("slicekeeper_part_age_seconds", "Time since a part of the installation last did its work", ("part",)),
    }
    return {key: GaugeMetricFamily(name, text, labels=labels) for key, (name, text, labels) in described.items()}


def _add_parts(families: dict[str, GaugeMetricFamily], ages: dict[str, float], oldest: float | None) -> None:
    for part, age in ages.items():
        families["part_age"].add_metric([part], age)
    if oldest is not None:
        families["oldest"].add_metric([], oldest)


def _add_summary(families: dict[str, GaugeMetricFamily], summary: ClusterSummary) -> None:
    for condition, count in summary.condition.items():
        families["nodes"].add_metric([summary.name, condition], count)
    for use, count in summary.use.items():
        families["uses"].add_metric([summary.name, use], count)
    for state, count in summary.jobs.items():
        families["jobs"].add_metric([summary.name, state], count)
    for lost in summary.lost_work:
        families["lost"].add_metric([summary.name, lost.team, lost.cause, "rollback"], lost.rollback_gpu_s)
        families["lost"].add_metric([summary.name, lost.team, lost.cause, "stall"], lost.stall_gpu_s)
    families["head"].add_metric([summary.name], summary.seq)
    if summary.fleet is not None:
        families["fleet_lag"].add_metric([summary.name], summary.fleet.lag_s)


registry.register(HubCollector())
registry.register(SignalCollector())
registry.register(ClusterCollector())

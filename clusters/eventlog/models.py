"""The tables of the event log, of its guard, and of what is derived from it.

Django makes the tables and reads them; only the event log and the projections write, in SQL of their own, so `save`, `delete` and their
kin are refused here. References to a cluster carry no foreign key in the log: its writer holds the cluster's head row locked, and a check
for each of a million rows would cost a third of the append.
"""

from __future__ import annotations

from typing import Any, Never

from django.db import models

from clusters.domain.constraints import MAX_NAME
from clusters.domain.events import MAX_SOURCE, MAX_SOURCE_ID
from clusters.eventlog.codec import DIGEST_BYTES
from clusters.eventlog.facts import MAX_CLUSTER


class ReadOnlyError(TypeError):
    """These tables are written by the event log and its projections only."""


def _refuse(*_: Any, **__: Any) -> Never:
    raise ReadOnlyError(ReadOnlyError.__doc__)


class ReadOnlyQuerySet(models.QuerySet[Any]):
    """A query set that reads."""

    create = update = delete = bulk_create = bulk_update = get_or_create = update_or_create = _refuse


class ReadOnlyModel(models.Model):
    """A row that Django may only read."""

    objects = ReadOnlyQuerySet.as_manager()

    save = delete = _refuse

    class Meta:
        abstract = True


class Cluster(ReadOnlyModel):
    """A cluster that has a log."""

    name = models.CharField(max_length=MAX_CLUSTER, unique=True)
    epoch = models.CharField(max_length=32)  # drawn at creation: tells a log from an earlier one of the same name

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class LogHead(ReadOnlyModel):
    """The position of a log's last event. Whoever appends holds this row locked."""

    cluster = models.OneToOneField(Cluster, models.DO_NOTHING, primary_key=True, related_name="head")
    seq = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.cluster_id} at {self.seq}"


class LogEvent(ReadOnlyModel):
    """One event. The columns up to `correlation` are in the order of the envelope's fields."""

    pk = models.CompositePrimaryKey("cluster_id", "seq")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=64)
    version = models.SmallIntegerField()
    occurred_at = models.BigIntegerField()  # cluster time, microseconds
    recorded_at = models.BigIntegerField()  # wall time, microseconds
    subject = models.TextField()
    payload = models.TextField()  # JSON
    source = models.CharField(max_length=MAX_SOURCE)
    source_id = models.CharField(max_length=MAX_SOURCE_ID)
    source_seq = models.BigIntegerField(null=True)
    causation = models.BigIntegerField(null=True)
    correlation = models.CharField(max_length=MAX_SOURCE_ID)
    digest = models.BinaryField(max_length=DIGEST_BYTES)  # of the content: all but seq, recorded_at and subject

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "source", "source_id"), name="log_event_source_key"),)
        indexes = (models.Index(fields=("cluster", "subject", "seq"), name="log_event_subject"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.subject}"


class LogSource(ReadOnlyModel):
    """Whether a source numbers its facts, as its first one did."""

    pk = models.CompositePrimaryKey("cluster_id", "name")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    name = models.CharField(max_length=MAX_SOURCE)
    sequenced = models.BooleanField()

    def __str__(self) -> str:
        return self.name


class LogDecision(ReadOnlyModel):
    """What a decision used, stored in the transaction of its `count` events from `first_seq` on."""

    pk = models.CompositePrimaryKey("cluster_id", "first_seq")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    first_seq = models.BigIntegerField()
    count = models.IntegerField()
    record = models.TextField()  # JSON

    def __str__(self) -> str:
        return f"{self.first_seq} +{self.count}"


class GpuClaim(ReadOnlyModel):
    """One GPU that a job holds: the database itself refuses a second owner."""

    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    node = models.TextField()
    gpu = models.SmallIntegerField()
    job = models.CharField(max_length=MAX_NAME)
    generation = models.IntegerField()  # of the job when it got the node

    class Meta:
        constraints = (models.UniqueConstraint(fields=("cluster", "node", "gpu"), name="gpu_claim_one_owner"),)

    def __str__(self) -> str:
        return f"{self.node}/{self.gpu} {self.job}"


class LogSnapshot(ReadOnlyModel):
    """The folded state at a position: saves time at start, never the truth."""

    pk = models.CompositePrimaryKey("cluster_id", "seq")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    seq = models.BigIntegerField()
    version = models.IntegerField()  # of the fold that made it
    checksum = models.BinaryField(max_length=DIGEST_BYTES)
    blob = models.BinaryField()

    def __str__(self) -> str:
        return f"snapshot at {self.seq}"


class MaintenanceEntry(ReadOnlyModel):
    """Who changed a log past its rules, and why. While `open`, in its own transaction only, the triggers let changes through."""

    at = models.BigIntegerField()  # wall time, microseconds
    by = models.TextField()
    reason = models.TextField()
    open = models.BooleanField()

    class Meta:
        verbose_name_plural = "maintenance entries"

    def __str__(self) -> str:
        return f"{self.by}: {self.reason}"


class ProjectionPosition(ReadOnlyModel):
    """How far a projection has come. A second build of it may grow beside the one that is read."""

    pk = models.CompositePrimaryKey("cluster_id", "name", "build")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    name = models.CharField(max_length=64)
    build = models.IntegerField()
    live = models.BooleanField()  # the build that is read
    seq = models.BigIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), condition=models.Q(live=True), name="projection_one_live_build"),
        )

    def __str__(self) -> str:
        return f"{self.name}/{self.build} at {self.seq}"


class JobRecord(ReadOnlyModel):
    """A job as lists show it, ended ones included. Read it through `clusters.eventlog.job_records.job_records`."""

    pk = models.CompositePrimaryKey("cluster_id", "build", "job")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    build = models.IntegerField()
    job = models.CharField(max_length=MAX_NAME)
    seq = models.BigIntegerField()  # of its JobSubmitted
    name = models.CharField(max_length=MAX_NAME)
    kind = models.CharField(max_length=32)
    team = models.CharField(max_length=MAX_NAME)
    submitted_by = models.TextField()
    nodes = models.IntegerField(null=True)  # as asked for: either nodes or gpus
    gpus = models.IntegerField(null=True)
    priority = models.IntegerField()
    state = models.CharField(max_length=16)
    reason = models.TextField()  # why it was stopped, requeued, held, or how it failed
    blocked = models.CharField(max_length=64)  # code of the last refusal while it waits or is stalled
    generation = models.IntegerField()
    swaps = models.IntegerField()
    moves = models.IntegerField()
    submitted_at = models.BigIntegerField()  # cluster time, as all of these
    placed_at = models.BigIntegerField(null=True)  # first
    started_at = models.BigIntegerField(null=True)  # first
    ended_at = models.BigIntegerField(null=True)
    wait_s = models.FloatField(null=True)  # cluster seconds from submitted to first placed

    class Meta:
        ordering = ("-seq",)
        indexes = (
            models.Index(fields=("cluster", "build", "-seq"), name="job_record_newest"),
            models.Index(fields=("cluster", "build", "state", "-seq"), name="job_record_state"),
            models.Index(fields=("cluster", "build", "kind", "-seq"), name="job_record_kind"),
            models.Index(fields=("cluster", "build", "team", "-seq"), name="job_record_team"),
        )

    def __str__(self) -> str:
        return f"{self.job} {self.state}"


class DomainRecord(ReadOnlyModel):
    """How long a domain had how many nodes unavailable. Read it through `clusters.eventlog.capacity_records`, as the two below."""

    pk = models.CompositePrimaryKey("cluster_id", "build", "domain")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    build = models.IntegerField()
    domain = models.TextField()
    seq = models.BigIntegerField()  # of the last event that touched it
    first = models.BigIntegerField()  # cluster time from which it was watched
    since = models.BigIntegerField()  # cluster time from which it has had what it has
    nodes = models.IntegerField()
    unavailable = models.IntegerField()  # of them
    spells = models.TextField()  # JSON: "nodes/unavailable" -> microseconds, up to `since`
    interruptions = models.IntegerField()
    whole_outages = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.domain} {self.unavailable}/{self.nodes}"


class ShapeRecord(ReadOnlyModel):
    """How much node-time jobs of one shape used, over those that ended."""

    pk = models.CompositePrimaryKey("cluster_id", "build", "shape")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    build = models.IntegerField()
    shape = models.CharField(max_length=64)  # "nodes:unit:max_slice:tail"
    seq = models.BigIntegerField()
    node_time = models.BigIntegerField()  # nodes times microseconds

    def __str__(self) -> str:
        return self.shape


class BooksSample(ReadOnlyModel):
    """The two partitions at one instant: the last one before each whole multiple of `width`."""

    pk = models.CompositePrimaryKey("cluster_id", "build", "width", "at")
    cluster = models.ForeignKey(Cluster, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    build = models.IntegerField()
    width = models.BigIntegerField()  # microseconds of cluster time between samples
    at = models.BigIntegerField()  # cluster time
    seq = models.BigIntegerField()  # the state after this position
    books = models.TextField()  # JSON: partition -> name -> nodes, only what there is

    class Meta:
        ordering = ("at",)

    def __str__(self) -> str:
        return f"{self.width}: {self.at}"

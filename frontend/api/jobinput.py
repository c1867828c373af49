"""How a job is asked for: the fields of a request, nested as the domain nests them."""

from __future__ import annotations

from clusters.domain.constraints import MAX_GROUP, MAX_LAYERS, MAX_NAME, MAX_NODES, MAX_PARTS, LevelMode
from clusters.domain.ids import LAST_INSTANT
from clusters.domain.jobs import MAX_AFTER, MAX_SECONDS, PRIORITY_RANGE, JobKind, OnStall, Recovery
from frontend.api.fields import Input, OneOf, Several, SeveralInputs, Shaped, Switch, Text, WholeNumber

JOB_ID = "j[0-9]{6,18}"
SUCH_AS = "give the id of a job, such as j000123"
MOST_GPUS = MAX_NODES * 8


class Size(Input):
    """How much, how it may be cut, and how close together it is to be."""

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
    level = Text(MAX_NAME, default="", help_text="a level of the topology, such as block or rack; see mode")
    mode = OneOf(LevelMode, default=LevelMode.ANY.value, help_text="how strictly it keeps to one group of the level")
    exclusive = Switch(default=False, help_text="no other work in its domains")
    time_limit_s = WholeNumber(1, MAX_SECONDS, required=False, allow_null=True, help_text="work that runs longer is stopped, and fails")
    team = Text(MAX_NAME, default="", help_text="whose quota it counts against")


class LayerInput(Input):
    """Runs of so many nodes, in rank order, stay in one group of the level."""

    level = Text(MAX_NAME, least=1)
    size = WholeNumber(1, MAX_NODES, help_text="nodes")


class PartInput(Input):
    """One part of a job whose parts differ."""

    name = Text(MAX_NAME, least=1)
    nodes = WholeNumber(1, MAX_NODES)
    slice_size = WholeNumber(1, MAX_NODES, required=False, allow_null=True)
    max_slice = WholeNumber(1, MAX_NODES, required=False, allow_null=True)
    level = Text(MAX_NAME, default="")
    mode = OneOf(LevelMode, default=LevelMode.ANY.value)


class PlanInput(Input):
    """Degrees of parallelism: one rank for each GPU."""

    tp = WholeNumber(1, MAX_GROUP, default=1)
    ep = WholeNumber(1, MAX_GROUP, default=1)
    pp = WholeNumber(1, MAX_GROUP, default=1)
    dp = WholeNumber(1, MAX_GROUP, default=1)


class Wanted(Size):
    """All of a request that its placement depends on."""

    layers = SeveralInputs(LayerInput(), 0, MAX_LAYERS, required=False, help_text="outermost first, each a multiple of the next")
    parts = SeveralInputs(PartInput(), 0, MAX_PARTS, required=False, help_text="placed together or not at all; nodes is their sum")
    plan = PlanInput(required=False, allow_null=True, help_text="its TP x EP group stays in one domain")


class JobInput(Wanted):
    """A job to submit."""

    name = Text(MAX_NAME, least=1)
    kind = OneOf(JobKind)
    priority = WholeNumber(*PRIORITY_RANGE, default=0)
    priority_class = Text(MAX_NAME, default="", help_text="a class of the policy; its first if left out")
    restartable = Switch(required=False, help_text="true, but for interactive jobs")
    expected_run_s = WholeNumber(1, MAX_SECONDS, required=False, allow_null=True)
    checkpoint_interval_s = WholeNumber(1, MAX_SECONDS, required=False, allow_null=True)
    recovery = OneOf(Recovery, default=Recovery.CHECKPOINT.value, help_text="where a replaced node takes its state from")
    on_stall = OneOf(OnStall, default=OnStall.HOLD.value, help_text="what it does when a slice has lost nodes and has no place")
    held = Switch(default=False, help_text="submit on hold")
    not_before = WholeNumber(
        0, LAST_INSTANT, required=False, allow_null=True, help_text="cluster time before which it does not start, in microseconds"
    )
    after = Several(Shaped(JOB_ID, SUCH_AS, needed=True), MAX_AFTER, required=False, help_text="jobs that must have finished")

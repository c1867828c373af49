"""The names that stand in paths. What cannot be a name is not found, before anything is asked of a database."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter

from clusters.domain.commands import NodeVerb, SwitchVerb
from clusters.eventlog.facts import MAX_CLUSTER
from clusters.signals.formats import FORMATS


class ClusterName(StringConverter):
    """The name of a cluster."""

    regex = rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_CLUSTER - 1}}}"


class JobId(StringConverter):
    """The id of a job: `j` and the position of its submission."""

    regex = "j[0-9]{6,18}"


class PlanId(StringConverter):
    """The id of a plan: `p` and the position of its proposal."""

    regex = "p[0-9]{6,18}"


class PlanVerbName(StringConverter):
    """What may be decided about a plan."""

    regex = "approve|reject"


class NodeVerbName(StringConverter):
    """What an operator may say of a node."""

    regex = "|".join(NodeVerb)

    def to_python(self, value: str) -> NodeVerb:
        return NodeVerb(value)


class SwitchVerbName(StringConverter):
    """What an operator may say of a switch tray."""

    regex = "|".join(SwitchVerb)

    def to_python(self, value: str) -> SwitchVerb:
        return SwitchVerb(value)


class JobVerbName(StringConverter):
    """What may be done with a job."""

    regex = "cancel|hold|release"


class SignalFormatName(StringConverter):
    """A format that signals may come in."""

    regex = "|".join(FORMATS)


register_converter(SignalFormatName, "signal_format")
register_converter(ClusterName, "cluster")
register_converter(JobId, "job")
register_converter(PlanId, "plan")
register_converter(PlanVerbName, "plan_verb")
register_converter(NodeVerbName, "node_verb")
register_converter(SwitchVerbName, "switch_verb")
register_converter(JobVerbName, "job_verb")

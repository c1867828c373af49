"""What changes a cluster: one command a request, carried out once however often it is sent, or only rehearsed.

With `Idempotency-Key` the log itself remembers the command: sent again by the same user, it is answered as done and does nothing; another
command under the key is refused. A refusal is not remembered: sent again, it is decided anew. With `dry_run` the command is decided on the
state as it is, and nothing is stored.
"""

from __future__ import annotations

from typing import Any

import msgspec
from drf_spectacular.extensions import OpenApiSerializerExtension
from rest_framework.request import Request

from clusters.domain.commands import Command
from clusters.domain.decision import Refusal
from clusters.domain.events import Payload, subject_of
from clusters.eventlog.port import Committed
from frontend.accounts.access import caller_of
from frontend.api.errors import Refused
from frontend.api.fields import Input, Switch, checked
from frontend.api.idempotency import IDEMPOTENT, idempotency_key
from scheduling.services import command_commit, command_rehearse


class WriteQuery(Input):
    """How a command is to be taken."""

    dry_run = Switch(default=False, help_text="answer with the events that would be appended, and change nothing")


#: The parameters of every request that is one command.
WRITING: list[Any] = [WriteQuery, IDEMPOTENT]


class PlannedEvent(msgspec.Struct, frozen=True):
    """An event that would be appended."""

    kind: str
    version: int
    subject: str  # the job, node or rack; "" for a job that would get its id only then
    payload: dict[str, Any]


class Rehearsal(msgspec.Struct, frozen=True):
    """What a command would lead to; nothing was stored."""

    dry_run: bool  # true
    at_seq: int  # decided on the state after this position
    events: list[PlannedEvent]


def give(request: Request, cluster: str, command: Command) -> Committed | Rehearsal:
    """Carry the command out, or rehearse it; raises Refused, UnknownCluster, SourceConflict."""
    dry_run = checked(WriteQuery, request.query_params)["dry_run"]
    key = idempotency_key(request)
    if dry_run:
        rehearsed = command_rehearse(cluster=cluster, command=command)
        if isinstance(rehearsed, Refusal):
            raise Refused(rehearsed)
        seq, decision = rehearsed
        return Rehearsal(True, seq, [planned(payload) for payload in decision.events])
    outcome = command_commit(cluster=cluster, command=command, by=caller_of(request).name, request_id=key)
    if isinstance(outcome, Refusal):
        raise Refused(outcome)
    return outcome


def planned(payload: Payload) -> PlannedEvent:
    """The event as the log would show it."""
    return PlannedEvent(type(payload).__name__, payload.VERSION, subject_of(payload), msgspec.to_builtins(payload))


class Either:
    """One of several answers, for the schema."""

    def __init__(self, *answers: type[msgspec.Struct]) -> None:
        self.answers = answers


class EitherSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Described as what it is."""

    target_class = "frontend.api.commands.Either"

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return "Or".join(answer.__name__ for answer in self.target.answers)

    def get_identity(self, auto_schema: Any, direction: Any) -> Any:
        return self.target.answers

    def map_serializer(self, auto_schema: Any, direction: Any) -> Any:
        return {"oneOf": [auto_schema.resolve_serializer(answer, direction).ref for answer in self.target.answers]}

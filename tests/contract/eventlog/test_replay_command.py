"""`replay` on decisions of the real engine."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from clusters.domain.commands import (
    CancelJob,
    ChangePriority,
    Command,
    HoldJob,
    MarkNode,
    NodeVerb,
    ReleaseJob,
    RunPass,
    SubmitJob,
    SubmitJobs,
)
from clusters.domain.decision import Refusal
from clusters.domain.job_events import JobPlaced, WorkStarted
from clusters.eventlog.codec import encode_payload
from clusters.eventlog.database import DatabaseLog
from clusters.eventlog.request import Request
from clusters.eventlog.store import default_log
from scheduling.domain.decide import decide
from tests.contract.eventlog.tampering import tamper
from tests.contract.eventlog.toy import CLUSTER, ask, create, fact

pytestmark = pytest.mark.django_db


def order(log: DatabaseLog, command: Command, number: int) -> str:
    """Send a command that must succeed; the subject of its first event, if any."""
    request_id = None if isinstance(command, RunPass) else f"r{number}"
    done = log.commit(CLUSTER, Request(command=command, source="user:ada", request_id=request_id), decide)
    assert not isinstance(done, Refusal), done
    return done.events[0].subject if done.events else ""


def played() -> DatabaseLog:
    """Jobs placed whole, a node that fails and is swapped, one held and released, one cancelled."""
    log = default_log()
    create(log, racks=2, nodes=18)
    commands: list[Command] = []
    for nodes in (16, 8, 20):
        commands += [SubmitJob(request=ask(nodes), by="ada"), RunPass()]
    names = [order(log, command, number) for number, command in enumerate(commands)]
    big = names[0]
    nodes_of_big = tuple(log.live(CLUSTER).catch_up().jobs[big].held_nodes)
    log.append_facts(CLUSTER, [fact(WorkStarted(job=big, generation=1, nodes=nodes_of_big), "w1", source="connector")])
    then: list[Command] = [
        MarkNode(node=nodes_of_big[0], verb=NodeVerb.FAIL, by="ada", reason="smoke"),
        RunPass(),
        HoldJob(job=names[4], by="ada"),
        ReleaseJob(job=names[4], by="ada"),
        ChangePriority(job=names[4], priority=7, by="ada"),
        CancelJob(job=names[4], by="ada"),
        SubmitJobs(requests=(ask(4), ask(16)), by="ada"),
    ]
    for number, command in enumerate(then, 100):
        order(log, command, number)
    return log


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("replay", "--cluster", CLUSTER, *arguments, stdout=out)
    return out.getvalue()


def test_replay_counts_by_kind() -> None:
    log = played()
    text = run()
    assert f"{log.head(CLUSTER):,} events up to position" in text
    assert "NodeSwapped                        1" in text
    assert "re-made" not in text


def test_a_sound_log_is_proved() -> None:
    log = played()
    told: dict[str, Any] = json.loads(run("--verify", "--json"))
    assert told["differences"] == []
    assert (told["head"], told["events"]["NodeSwapped"]) == (log.head(CLUSTER), 1)
    assert {verb: (tally["validated"], tally["differing"]) for verb, tally in told["decisions"].items()} == dict.fromkeys(
        ("CancelJob", "ChangePriority", "HoldJob", "MarkNode", "ReleaseJob", "RunPass", "SubmitJob", "SubmitJobs"), (0, 0)
    )
    assert told["decisions"]["SubmitJob"]["remade"] == 3
    assert "nothing differs" in run("--verify")


def test_one_edited_placement_fails_the_proof_and_is_named() -> None:
    log = played()
    placed = next(event for event in log.read(CLUSTER) if isinstance(event.payload, JobPlaced))
    assert isinstance(placed.payload, JobPlaced)
    part = placed.payload.slices[0]
    edited = replace(placed.payload, slices=(replace(part, nodes=tuple(reversed(part.nodes))),))
    tamper("UPDATE clusters_logevent SET payload = %s WHERE seq = %s", encode_payload(edited).decode(), placed.seq)
    with pytest.raises(CommandError, match=f"the first at event {placed.seq}: ") as caught:
        run("--verify")
    assert caught.value.returncode == 1


def test_an_unknown_cluster_is_named() -> None:
    with pytest.raises(CommandError, match="'toy'"):
        run("--verify")

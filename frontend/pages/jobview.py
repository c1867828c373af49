"""One job as its page shows it: what it is, its life, why it waits, where it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.urls import reverse

from clusters.domain.books import Condition
from clusters.domain.events import Event
from clusters.domain.ids import Instant
from clusters.domain.job_events import CheckpointReported
from clusters.domain.jobs import ACTIVE, TERMINAL, JobState
from clusters.domain.state import ClusterState, Slice
from frontend.accounts.roles import Caller
from frontend.pages.requestview import facts_of, part_names
from frontend.selectors.clusters import now_of
from frontend.selectors.jobs import JobFacts, Kept, Waiting, job_facts
from frontend.selectors.nodes import uses_of
from frontend.selectors.telling import LOSS_CAUSES, size_of, tell
from scheduling.domain.wording import gpu_hours, many

#: Counted reasons of a refusal, as they read beside their number.
COUNTED = {
    "missing": "nodes that a slice lacks",
    "home_free": "to spare where it is",
    "parts": "parts wanted at once",
    "slices": "slices wanted",
    "fit": "of them fit now",
    "slice_size": "nodes in the largest slice",
    "gpus": "GPUs wanted on one node",
    "asked": "GPUs wanted",
    "used": "GPUs that its team has now",
    "quota": "GPUs of its team's quota",
    "could_borrow": "more that it could borrow",
    "after": "jobs to finish before it",
    "best_free": "nodes free in the best domain",
    "group_nodes": "nodes in the best group",
    "best_gpus": "GPUs free on the best node",
    "free_nodes": "nodes free for it",
    "kept_for_job": "more kept for this job",
    "free_domains": "domains with such nodes",
    "empty_domains": "domains without other work",
    "free_gpus": "GPUs free for it",
    "spares_kept": "more kept as spares",
    "min_spares": "nodes that each domain must keep",
    **{f"nodes_{condition}": f"nodes {condition.replace('_', ' ')}" for condition in Condition},
}
#: So many domains are named in a sentence.
MOST_NAMED = 8

#: Of these, nothing is said where there are none.
_OF_NOTE = frozenset({"spares_kept", "empty_domains"})


def job_context(state: ClusterState, events: Sequence[Event], caller: Caller) -> dict[str, Any]:
    """Everything about the job of these events, as the caller may see it, who holds the state."""
    job = job_facts(state, events)
    request, now = job.request, now_of(state)
    living = JobState(job.state) not in TERMINAL
    return {
        "job": {
            "id": job.id,
            "name": request.name,
            "state": job.state,
            "kind": request.kind.value,
            "team": request.team,
            "size": size_of(request),
            "slices": [len(part.nodes) for part in job.slices],
            "generation": job.generation,
            "priority": job.priority,
            "can_cancel": living and job.state != JobState.STOPPING and caller.may_act_on(job.submitted_by),
        },
        "facts": [{"label": label, "value": value} for label, value in facts_of(job)],
        "steps": list(steps(job, now)),
        "waiting": _waiting(state.name, job, job.waiting) if job.waiting else None,
        "slices": list(_slices(state, job)) if living else [],
        "had": [] if living else list(_had(job)),
        "lost": [{"label": label, "value": value} for label, value in _lost(job)],
        "events": [
            replace(tell(event), job="") for event in reversed(events) if not isinstance(event.payload, CheckpointReported)
        ],  # the page is about this job, so none links to it
    }


def steps(job: JobFacts, now: Instant) -> Iterator[dict[str, Any]]:
    """The life of a job as steps: what is behind it, where it is, what is to come."""
    ended = job.ended_at_us
    state = JobState(job.state)
    begins = ("Submitted", job.submitted_at_us), ("Placed", job.placed_at_us), ("Running", job.started_at_us)
    over = state in TERMINAL
    reached = [(label, at) for label, at in begins if at is not None]
    for number, (label, at) in enumerate(reached):
        last = number + 1 == len(reached)
        until = (ended if over else now) if last else reached[number + 1][1]
        yield _step(label, at, (until or now) - at, "now" if last and not over else "done", _note(state) if last and not over else "")
    if not over:
        yield from (_step(label, None, None, "todo", "") for label, at in begins if at is None)
    yield _step(state.value.capitalize() if over else "Ended", ended, None, "done" if over else "todo", job.reason if over else "")


def _step(label: str, at: Instant | None, took: int | None, phase: str, note: str) -> dict[str, Any]:
    return {"label": label, "at_us": at, "took_us": took, "phase": phase, "note": note}


def _note(state: JobState) -> str:
    """What the present step does not say by its name."""
    return {JobState.HELD: "held", JobState.STALLED: "stalled", JobState.STOPPING: "stopping", JobState.WAITING: "waiting"}.get(state, "")


def _lost(job: JobFacts) -> Iterator[tuple[str, str]]:
    """What disruptions have cost it, by cause."""
    for lost in job.lost_work:
        cause = LOSS_CAUSES[lost.cause]
        often = f" ({lost.times} times)" if lost.times > 1 else ""
        cost = f"{gpu_hours(lost.rollback_gpu_s)} to be done again, {gpu_hours(lost.stall_gpu_s)} stood still"
        yield f"{cause[:1].upper()}{cause[1:]}{often}", cost


def _waiting(cluster: str, job: JobFacts, waiting: Waiting) -> dict[str, Any]:
    counted = ((key, label, waiting.counts.get(key)) for key, label in COUNTED.items())
    counts = [
        {"count": count, "label": label} for key, label, count in counted if isinstance(count, int) and (count or key not in _OF_NOTE)
    ]
    return {
        "title": "Why a slice is stalled" if job.state == JobState.STALLED else "Why it waits",
        "sentence": f"{waiting.text[:1].upper()}{waiting.text[1:]}.",
        "counts": counts,
        "starts": _starts(waiting),
        "kept": _kept(job.kept) if job.kept else None,
        "answers_url": reverse("frontend:job-why", args=(cluster, job.id)),
        "does": "go on" if job.state == JobState.STALLED else "start",
    }


def _kept(kept: Kept) -> dict[str, Any]:
    """When and where it starts by what is planned: no later, where what runs has limits."""
    domains, more = kept.domains[:MOST_NAMED], len(kept.domains) - MOST_NAMED
    where = ", ".join(domains) + (f" and {more} more" if more > 0 else "")
    return {"at_us": kept.starts_at_us, "where": where, "reason": kept.reason}


def _starts(waiting: Waiting) -> str:
    """What would make room for it, where that can be said of one place."""
    counts = waiting.counts
    if counts.get("slices") != 1 or "best_domain" not in counts or "level" in counts or "part" in counts:
        return ""
    lacking, where = int(counts["slice_size"]) - int(counts["best_free"]), counts["best_domain"]
    if "missing" in counts:
        lacking, where = min((lacking, where), (int(counts["missing"]) - int(counts["home_free"]), counts["home"]))
    return f"{many(lacking, 'more free node')} in {where} would make room." if lacking > 0 else ""


def _had(job: JobFacts) -> Iterator[dict[str, Any]]:
    """The slices that a job had when it ended."""
    names = part_names(job.request.parts, [len(part.nodes) for part in job.slices])
    for number, part in enumerate(job.slices):
        nodes = [node for node in part.nodes if node is not None]
        gpus = f", GPU{'s' if len(part.gpus) > 1 else ''} {', '.join(map(str, part.gpus))}" if part.gpus else ""
        yield {"number": number, "part": names[number], "domain": part.domain, "size": len(part.nodes), "nodes": ", ".join(nodes) + gpus}


def _slices(state: ClusterState, job: JobFacts) -> Iterator[dict[str, Any]]:
    live = state.jobs.get(job.id)
    if live is None:
        return
    names = part_names(job.request.parts, [len(part.nodes) for part in live.slices])
    for number, part in enumerate(live.slices):
        domain = state.topology.domain_index.get(part.domain)
        if domain is not None:
            yield _slice(state, number, part, domain, stalled=live.state in ACTIVE and None in part.nodes) | {"part": names[number]}


def _slice(state: ClusterState, number: int, part: Slice, domain: int, *, stalled: bool) -> dict[str, Any]:
    """A slice among all nodes of its domain."""
    slots = {node: slot for slot, node in enumerate(part.nodes) if node is not None}
    uses = uses_of(state, (domain,))
    lost = [str(slot) for slot, node in enumerate(part.nodes) if node is None]
    gpus = f"GPU{'s' if len(part.gpus) > 1 else ''} {', '.join(map(str, part.gpus))}" if part.gpus else ""
    return {
        "number": number,
        "domain": part.domain,
        "rack": state.nodes[next(iter(uses))].rack,
        "state": "stalled" if stalled else "",
        "note": f"lacks a node in slot {', '.join(lost)}" if lost else gpus,
        "cells": [
            {"node": name, "slot": slots.get(name), "use": use, "condition": state.nodes[name].condition.value}
            for name, use in uses.items()
        ],
    }

"""One rack: its elevation, its nodes, and what may be done with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from clusters.domain.books import Condition
from clusters.domain.commands import NodeVerb
from clusters.domain.health import Flag
from clusters.domain.racks import RackState
from clusters.domain.state import ClusterState, Job
from frontend.accounts.access import caller_of
from frontend.accounts.roles import Permission
from frontend.pages.base import frame, page, part, switcher
from frontend.pages.elevation import Elevation, Rack, Slot
from frontend.pages.nodepast import past_context
from frontend.pages.palette import RACK_STATES
from frontend.selectors.clusters import reading
from frontend.selectors.nodes import NodeFacts, RackFacts, ServiceFacts, rack_get, rack_nodes

#: In this order the tallies of a rack are shown.
KINDS = ("use", "condition")


@require_safe
@page
def rack_page(request: HttpRequest, cluster: str, rack: str) -> HttpResponse:
    """The page of a rack."""
    with reading(cluster) as state:
        context = {**frame(state, "fleet"), **rack_context(state, rack, may_write=may_write(request))}
    context["removable"] = caller_of(request).may(Permission.RACKS)
    return render(request, "frontend/rack.html", context | switcher())


@require_safe
@page
def rack_part(request: HttpRequest, cluster: str, rack: str) -> HttpResponse:
    """What changes on it."""
    with reading(cluster) as state:
        context = {**part(cluster), **rack_context(state, rack, may_write=may_write(request))}
    return render(request, "frontend/_rack_detail.html", context)


def may_write(request: HttpRequest) -> bool:
    """Whether the caller may say things of nodes."""
    return caller_of(request).may(Permission.NODES)


def rack_context(state: ClusterState, name: str, *, may_write: bool) -> dict[str, Any]:
    """Everything about a rack; the caller holds the state. Raises UnknownSubject."""
    rack, nodes = rack_get(state, name), rack_nodes(state, name)
    slots = tuple(_slot(state, node) for node in nodes)
    failed = frozenset(chip.tray for chip in rack.nvlink.lost)
    drawing = Rack(name=rack.name, slots=slots, switch_trays=rack.switch_trays, failed_switches=failed)
    return {
        "rack": {
            "name": rack.name,
            "block": rack.block,
            "domains": rack.domains,
            "switch_trays": rack.switch_trays,
        },
        "nvlink": rack.nvlink,
        "checks": state.has_engine and state.policy.check_repaired,
        "states": RACK_STATES if may_write else [],
        "elevation": mark_safe(Elevation(drawing).render()),
        "service": _service(rack.service),
        "tallies": list(_tallies(rack)),
        "nodes": [_row(state, node, may_write=may_write) for node in nodes],
    }


def _service(service: ServiceFacts) -> dict[str, Any]:
    """Which work the rack takes, and when it will be empty."""
    closed = service.state != RackState.OPEN
    facts = {"state": service.state, "until_us": service.until_us, "jobs": service.jobs, "empty_us": service.empty_us}
    return {**facts, "closed": closed, "reason": service.reason if closed else ""}


def _tallies(rack: RackFacts) -> Iterator[dict[str, Any]]:
    counted: Mapping[str, Mapping[str, int]] = {"use": rack.use, "condition": rack.condition}
    for kind in KINDS:
        for value, count in counted[kind].items():
            yield {"kind": kind, "value": value, "count": count}


def _slot(state: ClusterState, node: NodeFacts) -> Slot:
    job = state.jobs.get(node.job)
    return Slot(
        node=node.name,
        condition=node.condition,
        use=node.use,
        job=node.job,
        label=job.request.name if job else "",
        url=reverse("frontend:job", args=(state.name, node.job)) if node.job else "",
        slot=_slot_number(job, node.name),
        domain=node.domain or "",
    )


def _slot_number(job: Job | None, node: str) -> int | None:
    """The node's rank in its slice of the job."""
    return next((part.nodes.index(node) for part in (job.slices if job else ()) if node in part.nodes), None)


def _row(state: ClusterState, node: NodeFacts, *, may_write: bool) -> dict[str, Any]:
    job = state.jobs.get(node.job)
    return {
        "name": node.name,
        "domain": node.domain or "",
        "condition": node.condition,
        "use": node.use,
        "job": node.job,
        "job_name": job.request.name if job else "",
        "slot": _slot_number(job, node.name),
        "gpus_used": node.gpus_used if node.jobs and not state.nodes[node.name].job else None,
        "evidence": list(_evidence(node)),
        "past": past_context(state, node.name),
        "can": list(_can(node)) if may_write else [],
        "unchecked": node.unchecked_since_us is not None,
    }


def _evidence(node: NodeFacts) -> Iterator[dict[str, Any]]:
    if node.unchecked_since_us is not None:
        yield {"text": "repaired; waits for its check since", "at_us": node.unchecked_since_us}
    for mark in node.marks:
        why = f": {mark.reason}" if mark.reason else ""
        yield {"text": f"{_flag_words(mark.flag, node.condition)}{why} ({mark.source})", "at_us": mark.since_us}
    for text in (node.problem, *node.evidence):
        if text:
            yield {"text": text, "at_us": None}


def _flag_words(flag: str, condition: str) -> str:
    """A flag as evidence says it. A failed node may be in repair too: it is counted as failed, and must not read otherwise."""
    return "repair is under way" if flag == Flag.IN_REPAIR and condition != Condition.IN_REPAIR else flag.replace("_", " ")


def _can(node: NodeFacts) -> Iterator[str]:
    """What an operator may say of the node now."""
    flags = {mark.flag for mark in node.marks}
    broken = {Flag.FAILED, Flag.IN_REPAIR} & flags
    if node.condition != Condition.ABSENT:
        yield NodeVerb.REPAIR if broken else NodeVerb.FAIL
    yield NodeVerb.UNDRAIN if Flag.DRAINING in flags else NodeVerb.DRAIN
    if Flag.QUARANTINED in flags or node.unchecked_since_us is not None:
        yield NodeVerb.RELEASE

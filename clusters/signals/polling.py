"""Asking the sources of signals that do not push: one source, once.

What counts in a DCGM exporter's text and in a list of alerts is what changed since the last answer, so that much of each answer is kept. It
is kept after the signals are in the log: a crash in between asks again, and the ids of the signals, which name the answer before, absorb
what comes twice. A source that does not answer says nothing of its nodes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from clusters.domain.errors import ClusterError, InvalidRequest
from clusters.domain.ids import SECOND, Instant
from clusters.domain.signals import SignalKind
from clusters.eventlog.log import wall_now
from clusters.signals import alertmanager, dcgm, kubernetes, slurm
from clusters.signals.fetching import TOKEN_VARIABLE, FetchError, check_url, fetch
from clusters.signals.intake import product_of, signals_receive, source_of
from clusters.signals.model import Collector, Parsed, Signal, mapping, text
from clusters.signals.models import MAX_ERROR, MAX_NAME, SignalSource

EVERY_S = (5, 3_600)
DEFAULT_EVERY_S = 30
#: Pages of a list of nodes that are asked for.
MAX_PAGES = 50

#: Who speaks for what is fetched: no user can be called so.
POLL = "(fetched)"

Fetch = Callable[[str, Mapping[str, str]], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an answer came to, and what of it the next is compared with."""

    parsed: Parsed
    kept: Any


def source_add(*, cluster: str, name: str, kind: str, url: str, every_s: int = DEFAULT_EVERY_S) -> SignalSource:
    """Have a source asked from now on; raises InvalidRequest."""
    if not (0 < len(name) <= MAX_NAME and name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
        raise InvalidRequest("name", name[:MAX_NAME], f"give 1 to {MAX_NAME} letters, digits, '-' or '_'")
    if kind not in KINDS:
        raise InvalidRequest("kind", kind[:MAX_NAME], f"give one of: {', '.join(KINDS)}")
    if not EVERY_S[0] <= every_s <= EVERY_S[1]:
        raise InvalidRequest("every_s", every_s, f"give a whole number of seconds from {EVERY_S[0]} to {EVERY_S[1]}")
    source, made = SignalSource.objects.get_or_create(
        cluster=cluster, name=name, defaults={"kind": kind, "url": check_url(url), "every_s": every_s}
    )
    if not made:
        raise InvalidRequest("name", name, "there is such a source already; remove it first, or give another name")
    return source


def source_poll(source: SignalSource, fetch: Fetch = fetch) -> None:
    """Ask the source and take in what it says; what went wrong is kept with the source. Raises DatabaseError only."""
    asked = wall_now()
    error = told = ""
    kept, answered = source.kept, source.answered_at
    try:
        reading = KINDS[source.kind](source, fetch)
        done = signals_receive(cluster=source.cluster, source=source_of(POLL, source.name), signals=reading.parsed.signals)
        kept, answered = reading.kept, asked
        codes = f", {done.unknown_codes} of unknown codes, taken as soft ({', '.join(done.codes)})" if done.codes else ""
        told = f"{done.received} signals, {done.new} new, {done.unknown_nodes} of unknown nodes{codes}{_first_of(reading.parsed)}"
    except (FetchError, ClusterError) as trouble:
        error = str(trouble)
    SignalSource.objects.filter(pk=source.pk).update(
        asked_at=asked, answered_at=answered, error=error[:MAX_ERROR], told=told[:MAX_ERROR], kept=kept
    )


def _first_of(parsed: Parsed) -> str:
    """How much of the answer could not be read."""
    if not parsed.problems:
        return ""
    first = parsed.problems[0]
    return f"; {len(parsed.problems)} problems, the first at {first.position or 'the beginning'}: {first.message}"


def sources_take_due(now: Instant) -> list[SignalSource]:
    """The sources that are due, each given to one caller only and due again after its time."""
    due = SignalSource.objects.filter(enabled=True, due_at__lte=now).order_by("due_at", "pk")
    return [
        source
        for source in due
        if SignalSource.objects.filter(pk=source.pk, due_at=source.due_at).update(due_at=now + source.every_s * SECOND) == 1
    ]


def sources_forget_removed(clusters: Iterable[str]) -> None:
    """Sources go with their cluster: another one of its name must not get them."""
    stale = SignalSource.objects.exclude(cluster__in=list(clusters))
    if stale.exists():  # deleting nothing would lock the database, too
        stale.delete()


def token_of(source: SignalSource) -> str:
    """The token to send, from the environment; "" for none."""
    name = "".join(letter if letter.isalnum() else "_" for letter in source.name.upper())
    return os.environ.get(f"{TOKEN_VARIABLE}{name}", "")


def _headers(source: SignalSource) -> dict[str, str]:
    token = token_of(source)
    if not token:
        return {}
    return {"X-SLURM-USER-TOKEN": token} if source.kind == "slurm" else {"Authorization": f"Bearer {token}"}


def _json(source: SignalSource, fetch: Fetch, url: str) -> object:
    body = fetch(url, {"Accept": "application/json", **_headers(source)})
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        raise FetchError("the answer is not JSON") from None
    return document


def _read_dcgm(source: SignalSource, fetch: Fetch) -> Reading:
    body = fetch(source.url, _headers(source)).decode("utf-8", "replace")
    now, read = dcgm.read(body)
    if not now:
        raise FetchError(read.problems[0].message)
    previous: dcgm.Scrape = source.kept if isinstance(source.kept, dict) else {}
    said = dcgm.signals(previous, now)
    named = tuple(
        replace(signal, id=f"{source.answered_at or 0}/{signal.component}/{signal.check}/{signal.code}/{signal.kind.value}/{signal.node}")
        for signal in said.signals
    )
    return Reading(parsed=Parsed(signals=named, problems=read.problems), kept=dcgm.kept(previous, now))


def _read_alerts(source: SignalSource, fetch: Fetch) -> Reading:
    parsed = alertmanager.parse(_json(source, fetch, source.url), product_of(source.cluster))
    if parsed.problems and not parsed.signals and not parsed.problems[0].position:
        raise FetchError(parsed.problems[0].message)
    standing = {f"{signal.node}|{signal.check}|{signal.component}" for signal in parsed.signals}
    before = [key for key in source.kept or [] if isinstance(key, str) and key.count("|") >= 2]
    over = tuple(_over(*key.split("|", 2)) for key in before if key not in standing)
    return Reading(parsed=Parsed(signals=(*parsed.signals, *over), problems=parsed.problems), kept=sorted(standing))


def _over(node: str, check: str, component: str) -> Signal:
    """An alert that is no longer listed."""
    return Signal(node=node, code=check, kind=SignalKind.RECOVERED, check=check, component=component, lasting=True)


def _read_nodes(source: SignalSource, fetch: Fetch) -> Reading:
    """All pages of a list of Kubernetes."""
    found = Collector()
    following = ""
    for _page in range(MAX_PAGES):
        url = source.url + (f"{'&' if '?' in source.url else '?'}continue={quote(following, safe='')}" if following else "")
        document = _json(source, fetch, url)
        page = kubernetes.parse(document)
        found.signals.extend(page.signals)
        found.problems.extend(page.problems)
        following = text(mapping(mapping(document).get("metadata")).get("continue"))
        if not following:
            break
    return Reading(parsed=found.parsed(), kept=None)


def _read_slurm(source: SignalSource, fetch: Fetch) -> Reading:
    return Reading(parsed=slurm.parse(_json(source, fetch, source.url)), kept=None)


#: How each kind of source is read.
KINDS: dict[str, Callable[[SignalSource, Fetch], Reading]] = {
    "dcgm": _read_dcgm,
    "alertmanager": _read_alerts,
    "kubernetes": _read_nodes,
    "slurm": _read_slurm,
}

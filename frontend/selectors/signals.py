"""What a node remembers of signals, and where signals are fetched from."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from clusters.domain.errors import UnknownSubject
from clusters.domain.signals import standing
from clusters.domain.state import ClusterState
from clusters.signals.models import SignalSource


class HeardSignal(msgspec.Struct, frozen=True):
    """A signal as the node remembers it."""

    seq: int  # position in the log
    at_us: int
    source: str
    code: str
    kind: str
    scope: str
    check: str
    component: str
    text: str
    action: str
    lasting: bool
    stands: bool  # nobody has taken it back


class FetchedSource(msgspec.Struct, frozen=True):
    """An address that signals are fetched from, and how the last time went."""

    name: str
    kind: str
    address: str  # without what is asked of it
    every_s: int
    enabled: bool
    asked_wall_us: int | None
    answered_wall_us: int | None
    error: str  # "" where the last answer could be read
    told: str  # what became of it


def signals_heard(state: ClusterState, name: str) -> list[HeardSignal]:
    """What the node remembers, the latest first; raises UnknownSubject."""
    node = state.nodes.get(name)
    if node is None:
        raise UnknownSubject(f"there is no node {name!r} in cluster {state.name}")
    against = {heard.seq for heard in standing(node.signals)}
    return [
        HeardSignal(
            heard.seq,
            heard.at,
            heard.source,
            heard.code,
            heard.kind.value,
            heard.scope.value,
            heard.check,
            heard.component,
            heard.text,
            heard.action,
            heard.lasting,
            heard.seq in against,
        )
        for heard in reversed(node.signals)
    ]


def signal_sources(cluster: str) -> list[FetchedSource]:
    """The sources of a cluster by name."""
    return [_fetched(source) for source in SignalSource.objects.filter(cluster=cluster).order_by("name")]


def _fetched(source: SignalSource) -> FetchedSource:
    parts = urlsplit(source.url)
    return FetchedSource(
        source.name,
        source.kind,
        f"{parts.scheme}://{parts.netloc}{parts.path}",
        source.every_s,
        source.enabled,
        source.asked_at,
        source.answered_at,
        source.error,
        source.told,
    )

"""What nodes remember of signals, which codes nobody knows, and where signals are fetched from."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

import msgspec

from clusters.domain.errors import UnknownSubject
from clusters.domain.ids import Instant
from clusters.domain.signals import standing
from clusters.domain.state import ClusterState
from clusters.signals.models import SignalSource
from clusters.signals.xids import is_guess


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
    unknown_code: bool  # nobody knows the code, so it was taken as soft


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


class UnknownCode(msgspec.Struct, frozen=True):
    """A code that nobody knows, as far as nodes remember it."""

    code: str
    source: str
    nodes: int  # that it was said of
    at_us: int  # the last time


def unknown_codes(state: ClusterState) -> list[UnknownCode]:
    """The codes that were taken as soft for want of a meaning, the latest first; the caller holds the state."""
    last: dict[tuple[str, str], Instant] = {}
    nodes: Counter[tuple[str, str]] = Counter()
    for node in state.nodes.values():
        of_node = {(heard.code, heard.source): heard.at for heard in node.signals if is_guess(heard.kind, heard.text)}
        nodes.update(of_node.keys())
        last.update({key: max(at, last.get(key, at)) for key, at in of_node.items()})
    return [UnknownCode(*key, nodes[key], at) for key, at in sorted(last.items(), key=lambda item: (-item[1], item[0]))]


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
            is_guess(heard.kind, heard.text),
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

"""Agents that fall silent: a node whose agent has missed several signs of life is out of reach, until it is heard again.

Only silence of the node is its own. Where no agent of a cluster is heard, or many fall silent in one go, or nobody has looked for a while,
the trouble is more likely here: then nothing is said. Out of reach is not dead; what follows is decided elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence

from clusters.domain.errors import ClusterError
from clusters.domain.ids import MINUTE, SECOND, Instant
from clusters.domain.signals import SignalKind
from clusters.eventlog.store import default_log
from clusters.signals.intake import signals_receive, source_of
from clusters.signals.model import Signal
from clusters.signals.models import AgentBeat

logger = logging.getLogger(__name__)

CODE = "heartbeat"
EVERY_S = (1.0, 600.0)
#: Signs of life that must be missing, and a little for the network.
MISSED = 3
GRACE: Instant = 5 * SECOND
#: Agents that may fall silent together, as a share of all and as a number: more, and the fault is looked for here.
MOST_SHARE, MOST_NUMBER = 0.5, 18
#: Those that were heard within this time fell silent in one go; who has been silent for longer is no sign of anything now.
IN_ONE_GO: Instant = 10 * MINUTE
#: Looks further apart than this: nobody looked meanwhile, so nobody can say who was silent.
MOST_BETWEEN: Instant = 60 * SECOND

#: Who says that an agent is silent; no user can be called so.
WATCH = "(heartbeat)"


def beats_note(cluster: str, signals: Iterable[Signal], now: Instant) -> None:
    """Note the signs of life among the signals that came in, of nodes that there are. Raises UnknownCluster."""
    beating = {signal.node: _period(signal.text) for signal in signals if signal.code == CODE}
    if not beating:
        return
    with default_log().live(cluster).reading() as state:
        known = {node: every_s for node, every_s in beating.items() if node in state.nodes}
    for node, every_s in known.items():
        AgentBeat.objects.update_or_create(cluster=cluster, node=node, defaults={"at": now, "every_s": every_s})


def beats_look(clusters: Sequence[str], now: Instant, looked: Instant) -> None:
    """Report the agents that have fallen silent, and those that are heard again; `looked` is when this was last done."""
    stale = AgentBeat.objects.exclude(cluster__in=list(clusters))
    if stale.exists():  # deleting nothing would lock the database, too
        stale.delete()
    if now - looked > MOST_BETWEEN:
        AgentBeat.objects.filter(silent=False).update(at=now)
        return
    for cluster in clusters:
        try:
            _look(cluster, list(AgentBeat.objects.filter(cluster=cluster)), now)
        except ClusterError:  # of a later version, or removed a moment ago
            logger.exception("the silence of agents of cluster %r cannot be reported", cluster)


def beat_forget(cluster: str, node: str) -> bool:
    """The node's agent is no more, and that is as it should be; whether there was one."""
    known = AgentBeat.objects.filter(cluster=cluster, node=node)
    if known.filter(silent=True).exists():
        _report(cluster, [_signal(node, SignalKind.RECOVERED, "")])
    return known.delete()[0] > 0


def _look(cluster: str, beats: Sequence[AgentBeat], now: Instant) -> None:
    overdue = {beat.pk for beat in beats if now - beat.at > MISSED * beat.every_s * SECOND + GRACE}
    if _is_ours(beats, overdue, now):
        logger.warning("cluster %r: %d of %d agents are silent together, so the trouble is here", cluster, len(overdue), len(beats))
        return
    fallen = [beat for beat in beats if beat.pk in overdue and not beat.silent]
    back = [beat for beat in beats if beat.pk not in overdue and beat.silent]
    said = [_signal(beat.node, SignalKind.UNREACHABLE, f"its agent, due every {beat.every_s:g} s, is silent") for beat in fallen]
    _report(cluster, [*said, *(_signal(beat.node, SignalKind.RECOVERED, "") for beat in back)])
    AgentBeat.objects.filter(pk__in=[beat.pk for beat in fallen]).update(silent=True)
    AgentBeat.objects.filter(pk__in=[beat.pk for beat in back]).update(silent=False)


def _is_ours(beats: Sequence[AgentBeat], overdue: Container[int], now: Instant) -> bool:
    """Whether nobody at all is heard, or too many have fallen silent in one go."""
    if len(beats) > 1 and all(now - beat.at > beat.every_s * SECOND + GRACE for beat in beats):
        return True
    lately = sum(beat.pk in overdue and now - beat.at < IN_ONE_GO for beat in beats)
    return lately > max(MOST_NUMBER, MOST_SHARE * len(beats))


def _report(cluster: str, signals: Sequence[Signal]) -> None:
    if signals:
        signals_receive(cluster=cluster, source=source_of(WATCH, ""), signals=signals)


def _signal(node: str, kind: SignalKind, text: str) -> Signal:
    return Signal(node=node, code="agent:silent", kind=kind, check=CODE, text=text, lasting=True)


def _period(told: str) -> float:
    """Seconds until the next sign of life, as the agent says."""
    try:
        period = float(told)
    except ValueError:
        period = EVERY_S[1]
    return min(max(period, EVERY_S[0]), EVERY_S[1]) if period == period else EVERY_S[1]

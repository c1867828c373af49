"""Nodes that fail again and again: quarantined until a person releases them, and scored."""

from __future__ import annotations

import math

from clusters.domain.health_events import NodeQuarantined
from clusters.domain.ids import DAY, HOUR, Instant
from clusters.domain.policy import Policy
from clusters.domain.state import Node

#: A verdict counts half after so long. Of real nodes 1.2 % cause 20 % of failures, and go on to: a week tells them from bad luck.
HALF_LIFE = 7 * DAY

EXIT_RULE = "a person releases it after a check"
OWNER = "policy"


def flapping(node: Node, policy: Policy, now: Instant) -> NodeQuarantined | None:
    """The quarantine of a node that a verdict takes out now, if it was taken out too often lately."""
    since = max(now - policy.flap_window_h * HOUR, -1 if node.trusted_at is None else node.trusted_at)
    recent = [at for at in node.verdicts if at > since]
    if len(recent) + 1 < policy.flap_verdicts:
        return None
    hours = policy.flap_window_h
    reason = f"taken out {len(recent) + 1} times within {hours} h"
    evidence = tuple(f"taken out {(now - at) / HOUR:.1f} h before" for at in recent)
    return NodeQuarantined(node=node.name, owner=OWNER, reason=reason, exit_rule=EXIT_RULE, evidence=evidence)


def lemon_score(node: Node, now: Instant) -> float:
    """Verdicts against the node, each halved for every week since: 0 for one that was never taken out."""
    return sum(math.exp2(-max(0, now - at) / HALF_LIFE) for at in node.verdicts)

"""What became of the signals that came to this process, for whoever watches it: most change nothing and leave no other trace."""

from __future__ import annotations

import threading
from collections import Counter

_counted: Counter[tuple[str, str]] = Counter()
_guard = threading.Lock()


def count(cluster: str, outcomes: dict[str, int]) -> None:
    """Signals of a cluster were dealt with."""
    with _guard:
        _counted.update({(cluster, outcome): number for outcome, number in outcomes.items() if number})


def counted() -> dict[tuple[str, str], int]:
    """(cluster, outcome) -> signals so far."""
    with _guard:
        return dict(_counted)

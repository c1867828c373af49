"""What commands say of an error."""

from __future__ import annotations

from clusters.domain.errors import UnknownCluster
from clusters.eventlog.store import default_log

#: Clusters that a message names at most.
MOST_NAMED = 10


def in_words(error: Exception) -> str:
    """The error in words; where a cluster does not exist, with those that do: whoever runs commands may see them all."""
    if not isinstance(error, UnknownCluster):
        return str(error)
    names = default_log().clusters()
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    known = f"there are: {', '.join(names[:MOST_NAMED])}{more}" if names else "there is none yet"
    return f"{error}; {known}"

"""How often somebody may try a secret: the token of a login link, or of a program."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable

TRIES = 10
WINDOW_SECONDS = 60.0

#: Networks remembered at a time. The oldest is forgotten first, so that many addresses cannot fill the memory.
MOST_NETWORKS = 10_000

#: An IPv6 customer has at least this much of the address space, so the rest of an address tells nobody apart.
IPV6_NETWORK_BITS = 64


class TryLimit:
    """Counts tries for each network in windows of fixed length; each try is counted before it is judged, so bursts do not slip by.

    Counts are per process. That is enough against guessing 256 bits; it keeps one client from keeping the database busy.
    """

    def __init__(self, *, most: int = TRIES, window: float = WINDOW_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._window = window
        self._clock = clock
        self._lock = threading.Lock()
        self._tries: dict[str, tuple[float, int]] = {}  # network -> (start of its window, tries in it), oldest window first

    def wait(self, address: str) -> float:
        """Count one try and return 0, or the seconds after which the next one is allowed."""
        network, now = network_of(address), self._clock()
        with self._lock:
            started, tries = self._tries.get(network, (now, 0))
            if now - started >= self._window:
                started, tries = now, 0
                self._tries.pop(network, None)
            if tries >= self._most:
                return started + self._window - now
            self._tries[network] = (started, tries + 1)
            if len(self._tries) > MOST_NETWORKS:
                del self._tries[next(iter(self._tries))]
            return 0.0

    def blocked(self, address: str) -> float:
        """The seconds after which the next try is allowed; 0 where it is now. Counts nothing."""
        network, now = network_of(address), self._clock()
        with self._lock:
            started, tries = self._tries.get(network, (now, 0))
        left = started + self._window - now
        return left if tries >= self._most and left > 0 else 0.0

    def forget(self) -> None:
        """Start anew."""
        with self._lock:
            self._tries.clear()


def network_of(address: str) -> str:
    """What tries are counted by: the address, or the network of an IPv6 one; any text that is no address counts as itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, IPV6_NETWORK_BITS), strict=False))


#: Of all login tries of this process.
login_limit = TryLimit()

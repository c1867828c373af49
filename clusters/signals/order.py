"""Whether the signals of a source come in its own order.

What says nothing new need not be logged, but only where nothing older is still to come: if the source's 12 repeats its 10 while its 11 is
late, then 12 is what holds in the end, and must be in the log by then. Each process knows what it has seen itself; where it does not know,
it takes signals for early and logs them, which costs a row and is never wrong.
"""

from __future__ import annotations

import threading

#: Numbers remembered that came before their turn; with more than these the missing ones are given up.
MOST_AHEAD = 10_000


class Order:
    """Which numbers of one source have come."""

    def __init__(self) -> None:
        self._upto: int | None = None  # all numbers up to this have come, or came before this process looked
        self._ahead: set[int] = set()

    def has_come(self, number: int) -> bool:
        """Note the number; whether it and all before it have come."""
        if self._upto is None:
            self._upto = number
            return False
        if number > self._upto:
            self._ahead.add(number)
            if len(self._ahead) > MOST_AHEAD:
                self._upto = min(self._ahead) - 1
            while self._upto + 1 in self._ahead:
                self._upto += 1
                self._ahead.remove(self._upto)
        return number <= self._upto


class Orders:
    """The orders of all sources that this process hears."""

    def __init__(self) -> None:
        self._orders: dict[tuple[str, str], Order] = {}
        self._guard = threading.Lock()

    def has_come(self, epoch: str, source: str, number: int) -> bool:
        """Note the number; whether it and all before it have come into the log of this epoch: another log of its name has heard nothing."""
        with self._guard:
            return self._orders.setdefault((epoch, source), Order()).has_come(number)

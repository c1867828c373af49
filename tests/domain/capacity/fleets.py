"""What these tests share: the fleet and the outages that the published figures are about, and how properties are tried."""

from __future__ import annotations

from hypothesis import settings

from scheduling.domain.capacity.model import Fleet, Outages

FLEET = Fleet.uniform(128, 18)
RACK = Fleet.uniform(1, 18)
TWO_PERCENT = Outages(unavailability=0.02)

#: Enumerating every pattern takes its time, and how long is nobody's promise.
PROPERTY = settings(max_examples=50)

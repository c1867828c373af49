"""How long a test that kills things goes on: short in `make test`, in full in `make faults`."""

from __future__ import annotations

import os


def rounds(short: int, full: int) -> int:
    """Return how many rounds to run; FAULTS=full asks for all of them."""
    return full if os.environ.get("FAULTS") == "full" else short

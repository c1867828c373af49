"""How long tests wait for what must happen."""

from __future__ import annotations

#: Seconds. Far longer than anything takes: the machine may be busy, and only a test that fails waits to the end.
PATIENCE = 60.0

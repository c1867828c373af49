"""What should run where: placement, queue, spares and recovery, as pure functions of the cluster's state."""

from __future__ import annotations

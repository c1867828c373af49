"""Making room: which work moves, or waits, so that a job fits or whole domains are free, at least cost; and the proof of it."""

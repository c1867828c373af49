"""The functional core: what a cluster is, what happened to it, and what follows from that.

Nothing below this package reads a clock, draws a random number, logs or does I/O; state changes only by folding events.
"""

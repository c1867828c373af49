"""The agent of one node: reads its kernel log, its GPUs and its fabric, and sends what it sees as signals.

Nothing but Python's standard library and the parsers of `clusters.signals`. It needs to read the kernel log and to run nvidia-smi, no more.
"""

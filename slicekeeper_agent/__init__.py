"""The agent of one node: reads its kernel log, its GPUs and its fabric, and sends what it sees as signals.

Nothing but Python's standard library and the parsers of `clusters.signals`, and the package nvidia-ml-py where that is installed. It needs
to read the kernel log, and to run nvidia-smi or open the devices of the GPUs, no more.
"""

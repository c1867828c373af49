"""Sums of vectors of doubles, given as bytes: by numpy where it is installed, else slowly."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from importlib.util import find_spec

Buffer = bytes | bytearray | memoryview


def check_bytes(vector: object) -> None:
    """Raise TypeError where a vector is no bytes: an array would be sent with a wrong length."""
    if not isinstance(vector, Buffer) or (isinstance(vector, memoryview) and vector.nbytes != len(vector)):
        raise TypeError(f"give the doubles as bytes, such as vector.tobytes(), not as {type(vector).__name__}")


def add_plainly(total: bytearray, part: Buffer) -> None:
    """With nothing but Python."""
    summed, other = array("d"), array("d")
    summed.frombytes(total)
    other.frombytes(part)
    total[:] = array("d", map(float.__add__, summed, other)).tobytes()


def add_by_numpy(total: bytearray, part: Buffer) -> None:
    """Some hundred times as fast."""
    import numpy as np

    summed = np.frombuffer(total, dtype=np.float64)
    summed += np.frombuffer(part, dtype=np.float64)


#: Add a vector into another of the same length; the result is the same to the last bit, whichever does it.
add_into: Callable[[bytearray, Buffer], None] = add_by_numpy if find_spec("numpy") else add_plainly

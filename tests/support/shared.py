"""The reference data that lies beside the checkout: found by SLICEKEEPER_SHARED, else `../shared`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared_path(*parts: str) -> Path:
    """Return the path of a file of the reference data, or skip the test; in CI a missing file is a failure."""
    path = Path(os.environ.get("SLICEKEEPER_SHARED", ROOT.parent / "shared")).joinpath(*parts)
    if not path.exists():
        reason = f"reference data not found: {path} (set SLICEKEEPER_SHARED to its directory)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path

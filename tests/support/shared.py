"""The reference data that lies beside the checkout: found by SLICEKEEPER_SHARED, else `../shared`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]


def shared_path(*parts: str) -> Path:
    """Return the path of a file of the reference data, or skip the test; in CI a missing file is a failure."""
    path = Path(os.environ.get("SLICEKEEPER_SHARED", ROOT.parent / "shared")).joinpath(*parts)
    if not path.exists():
        lacking(f"reference data not found: {path} (set SLICEKEEPER_SHARED to its directory)")
    return path


def lacking(what: str) -> NoReturn:
    """Skip the test for what this machine lacks; in CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)

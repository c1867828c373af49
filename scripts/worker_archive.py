"""`python scripts/worker_archive.py FILE`: what programs on the nodes use, library and command, as one file that Python runs (a zipapp)."""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipapp
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "slicekeeper_worker"


def main(target: str) -> None:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copytree(PACKAGE, Path(directory, PACKAGE.name), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(PACKAGE / "__main__.py", Path(directory, "__main__.py"))
        zipapp.create_archive(directory, target, interpreter="/usr/bin/env python3", compressed=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give the name of the file to write")
    main(sys.argv[1])

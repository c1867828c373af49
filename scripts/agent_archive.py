"""`python scripts/agent_archive.py FILE`: the agent of a node with all it needs as one file that Python runs (a zipapp).

Into it go the modules that the agent imports and the catalogue of Xids, nothing else of the project.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipapp
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("slicekeeper_agent", "clusters")
CATALOGUE = Path("clusters", "signals", "catalogue")


def main(target: str) -> None:
    """Write the archive."""
    sys.path.insert(0, str(ROOT))
    import_module("slicekeeper_agent.run")
    needed = [module for name, module in sys.modules.items() if name.partition(".")[0] in PACKAGES and module.__file__]
    with tempfile.TemporaryDirectory() as directory:
        for module in needed:
            file = Path(str(module.__file__)).relative_to(ROOT)
            copy = Path(directory, file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, copy)
        shutil.copytree(ROOT / CATALOGUE, Path(directory, CATALOGUE))
        main_file = Path(directory, "__main__.py")
        shutil.copyfile(ROOT / "slicekeeper_agent" / "__main__.py", main_file)
        zipapp.create_archive(directory, target, interpreter="/usr/bin/env python3", compressed=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give the name of the file to write")
    main(sys.argv[1])

"""Files of other projects are the ones that VENDOR.toml names, and no others."""

from __future__ import annotations

import hashlib
import tomllib

from tests.support.shared import ROOT

VENDOR = ROOT / "frontend" / "static" / "vendor"
MANIFEST = "VENDOR.toml"


def test_each_file_has_the_hash_and_the_licence_that_the_list_names() -> None:
    listed = tomllib.loads((VENDOR / MANIFEST).read_text())["file"]
    for file in listed:
        assert hashlib.sha256((VENDOR / file["path"]).read_bytes()).hexdigest() == file["sha256"], file["path"]
        assert file["licence"] in (VENDOR / file["licence_file"]).read_text()
        assert file["version"] in (VENDOR / file["path"]).read_text()[:500]
    named = {file[key] for file in listed for key in ("path", "licence_file")}
    assert {path.name for path in VENDOR.iterdir()} == named | {MANIFEST}

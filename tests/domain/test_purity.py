"""The domain packages decide and fold: no clock, no chance, no I/O, no framework."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOMAINS = ("clusters.domain", "scheduling.domain")

#: Parts of the standard library that know the time, draw lots, or reach outside the process.
BARRED_MODULES = frozenset(
    "asyncio concurrent contextvars ctypes datetime fcntl glob http io logging mmap multiprocessing os pathlib pickle random secrets "
    "select selectors shelve shutil signal socket sqlite3 ssl subprocess tempfile threading time urllib uuid warnings zoneinfo".split()
)

#: `hash` of a text and `id` differ from run to run; the rest is I/O or hides an import.
BARRED_CALLS = {"__import__", "breakpoint", "compile", "eval", "exec", "hash", "id", "input", "open", "print"}


def domain_files() -> list[Path]:
    return [file for domain in DOMAINS for file in sorted(ROOT.joinpath(*domain.split(".")).rglob("*.py"))]


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def is_pure(module: str) -> bool:
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return root not in BARRED_MODULES
    return module in DOMAINS or module.startswith((".", *(f"{name}." for name in DOMAINS)))


def impurities(source: str) -> list[str]:
    tree = ast.parse(source)
    calls = [
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BARRED_CALLS
    ]
    return [f"import {module}" for module in imported(tree) if not is_pure(module)] + [f"{name}()" for name in calls]


@pytest.mark.parametrize("file", domain_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_a_domain_module_reaches_nothing_outside_itself(file: Path) -> None:
    assert impurities(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from datetime import datetime", ["import datetime"]),
        ("import django.db", ["import django.db"]),
        ("import os.path", ["import os.path"]),
        ("def f():\n    import random", ["import random"]),
        ("from clusters.eventlog import api", ["import clusters.eventlog"]),
        ("from clusters import eventlog", ["import clusters"]),
        ("x = hash('a')", ["hash()"]),
        ("from clusters.domain.ids import JobId\nimport heapq\nfrom .ids import NodeId", []),
    ],
)
def test_the_search_tells_pure_from_impure(source: str, found: list[str]) -> None:
    assert impurities(source) == found


def test_the_domain_imports_in_a_bare_interpreter() -> None:
    modules = [".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in domain_files()]
    assert len(modules) > len(DOMAINS)
    script = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from importlib import import_module
for module in {modules!r}:
    import_module(module)
print(sorted({{name.partition(".")[0] for name in sys.modules}} - sys.stdlib_module_names))
"""
    # -S: without site-packages; a framework could not even be found.
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert ast.literal_eval(done.stdout) == ["__main__", "clusters", "scheduling"]

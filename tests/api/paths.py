"""A path for each route of the site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

#: What stands for the parameters of paths; ids of users and tokens that nobody has.
SAMPLES = {
    "<cluster:cluster>": "lab",
    "<str:domain>": "r1",
    "<str:rack>": "r1",
    "<str:node>": "r1-n01",
    "<job:job>": "j000001",
    "<plan:plan>": "p000001",
    "<plan_verb:verb>": "approve",
    "<int:tray>": "1",
    "<switch_verb:verb>": "fail",
    "<node_verb:verb>": "fail",
    "<job_verb:verb>": "cancel",
    "<signal_format:form>": "alertmanager",
    "<int:user>": "999999",
    "<int:token>": "999999",
    "<uuid:upload>": "00000000-0000-4000-8000-000000000000",
}


def named_paths(patterns: Any = None, before: str = "", within: str = "") -> Iterator[tuple[str, str]]:
    """(name, path) of each route of the site."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        path = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = f"{within}{entry.namespace}:" if entry.namespace else within
            yield from named_paths(entry.url_patterns, path, inner)
        elif isinstance(entry, URLPattern):
            for sample, value in SAMPLES.items():
                path = path.replace(sample, value)
            assert "<" not in path, f"give a sample for {path}"
            assert entry.name, f"give the route of {path} a name"
            yield f"{within}{entry.name}", f"/{path}"

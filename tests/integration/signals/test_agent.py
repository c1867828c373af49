"""The agent against a server that listens: what it reads on a node is in the log, once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from clusters.domain.signals import SignalKind, standing
from clusters.eventlog.live import live
from clusters.eventlog.store import default_log
from frontend.accounts.roles import Role
from frontend.accounts.tokens import token_create
from slicekeeper_agent.options import parse_options
from slicekeeper_agent.run import Agent
from tests.support.lab import NAME, make_lab
from tests.support.people import make_user
from tests.support.shared import shared_path

NODE = "r1-n01"


def run(server: LiveServer, directory: Path, log: Path, report: Path) -> int:
    """The agent once; the report stands for what nvidia-smi prints."""
    printed = f"{sys.executable} -c \"print(open('{report}').read())\""
    arguments = ["--url", server.url, "--cluster", NAME, "--node", NODE, "--state", str(directory), "--kernel-log", str(log)]
    return Agent(parse_options([*arguments, "--nvidia-smi", printed, "--gpus", "2", "--once"])).run()


@pytest.mark.django_db(transaction=True)
def test_what_the_agent_sees_is_in_the_log_once(live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_lab()
    token = token_create(user=make_user("ops", Role.OPERATOR), label="agent", role=Role.SIGNALS)[1]
    monkeypatch.setenv("SLICEKEEPER_TOKEN", token)
    log = tmp_path / "kern.log"
    log.write_text("2026-11-20T07:58:12Z r1 kernel: NVRM: Xid (PCI:0000:0a:00): 119, pid=1, Timeout of GSP\n", encoding="utf-8")
    reports = shared_path("data", "formats", "nvidia-smi")

    assert run(live_server, tmp_path / "state", log, reports / "qx-gb200-ecc-injected.xml") == 0
    node = live(NAME).catch_up().nodes[NODE]
    assert {(heard.code, heard.kind) for heard in standing(node.signals)} == {
        ("xid:119", SignalKind.FATAL),
        ("smi:row-remap", SignalKind.FATAL),
        ("smi:memory-errors", SignalKind.SOFT),
    }
    assert {heard.source for heard in node.signals} == {f"signal:ops/agent/{NODE}"}

    head = default_log().head(NAME)
    assert run(live_server, tmp_path / "state", log, reports / "qx-gb200-ecc-injected.xml") == 0
    assert default_log().head(NAME) == head, "the same line and the same report again"

    assert run(live_server, tmp_path / "other", log, reports / "qx-gb200-healthy.xml") == 0, "an agent that has lost its files"
    assert {heard.code for heard in standing(live(NAME).catch_up().nodes[NODE].signals)} == {"xid:119"}

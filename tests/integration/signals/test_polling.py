"""Sources that are asked: what changed since the last answer comes in, once, and a source that is away says nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from clusters.domain.errors import InvalidRequest
from clusters.domain.ids import SECOND
from clusters.domain.signal_events import SignalReceived
from clusters.domain.signals import SignalKind, standing
from clusters.eventlog.live import live
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import default_log
from clusters.signals.fetching import FetchError
from clusters.signals.models import SignalSource
from clusters.signals.polling import source_add, source_poll, sources_forget_removed, sources_take_due
from config.celery import app
from tasks import polls
from tests.support.lab import NAME, make_lab

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _cluster(db: None) -> None:
    make_lab()


def add(kind: str, name: str = "west", every_s: int = 30) -> SignalSource:
    return source_add(cluster=NAME, name=name, kind=kind, url="http://monitoring:9090/x", every_s=every_s)


class Site:
    """Answers with what it is told to."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    def __call__(self, url: str, headers: Mapping[str, str]) -> bytes:
        self.asked.append((url, headers))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()


def poll(source: SignalSource, *answers: object) -> SignalSource:
    site = Site(*answers)
    while site.answers:
        source_poll(SignalSource.objects.get(pk=source.pk), site)
    return SignalSource.objects.get(pk=source.pk)


def said() -> list[tuple[str, str, SignalKind]]:
    events = (event.payload for event in default_log().read(NAME) if isinstance(event.payload, SignalReceived))
    return [(payload.node, payload.code, payload.kind) for payload in events]


def scrape(xid: int, node: str = "r1-n01") -> str:
    labels = f'{{gpu="0",UUID="GPU-1",modelName="NVIDIA GB200",Hostname="{node}"}}'
    return f"DCGM_FI_DEV_GPU_TEMP{labels} 40\nDCGM_FI_DEV_XID_ERRORS{labels} {xid}\n"


def alert(node: str) -> dict[str, Any]:
    labels = {"alertname": "GPUXid", "node": node, "xid": "79"}
    return {"status": {"state": "active"}, "labels": labels, "fingerprint": node, "startsAt": "2026-11-20T08:00:00Z"}


def test_a_latched_xid_comes_in_when_it_changes() -> None:
    source = poll(add("dcgm"), scrape(0), scrape(0), scrape(79), scrape(79))
    assert said() == [("r1-n01", "xid:79", SignalKind.FATAL)]
    assert (source.error, source.told) == ("", "0 signals, 0 new, 0 of unknown nodes")


def test_a_crash_after_the_log_and_before_the_note_brings_nothing_twice() -> None:
    source = poll(add("dcgm"), scrape(0))
    before = SignalSource.objects.filter(pk=source.pk).values("kept", "answered_at").get()
    poll(source, scrape(79))
    SignalSource.objects.filter(pk=source.pk).update(**before)
    again = poll(source, scrape(79))
    assert again.told.startswith("1 signals, 0 new")
    assert len(said()) == 1


def test_a_page_that_is_no_scrape_does_not_make_an_old_code_new() -> None:
    source = poll(add("dcgm"), scrape(79), "<html>starting</html>")
    assert "DCGM" in source.error
    assert poll(source, scrape(79)).error == ""
    assert said() == [("r1-n01", "xid:79", SignalKind.SOFT)], "latched before the first look"


def test_alerts_that_are_no_longer_listed_are_over() -> None:
    source = poll(add("alertmanager"), [alert("r1-n01"), alert("r1-n02")], [alert("r1-n02")], [alert("r1-n02")])
    state = live(NAME).catch_up()
    assert standing(state.nodes["r1-n01"].signals) == []
    assert [heard.code for heard in standing(state.nodes["r1-n02"].signals)] == ["xid:79"]
    assert len(said()) == 3
    assert source.answered_at is not None


def test_a_source_that_is_away_says_nothing_of_its_nodes() -> None:
    source = poll(add("alertmanager"), [alert("r1-n01")], FetchError("it answered 502"), {"status": "error"}, "{")
    assert source.error == "the answer is not JSON"
    assert len(standing(live(NAME).catch_up().nodes["r1-n01"].signals)) == 1
    assert poll(source, []).error == ""
    assert standing(live(NAME).catch_up().nodes["r1-n01"].signals) == []


def test_all_pages_of_kubernetes_are_read() -> None:
    def page(name: str, following: str) -> dict[str, Any]:
        node = {
            "metadata": {"name": name},
            "spec": {"unschedulable": True},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
        return {"kind": "NodeList", "metadata": {"continue": following}, "items": [node]}

    site = Site(page("r1-n01", "a/b"), page("r1-n02", ""))
    source_poll(add("kubernetes"), site)
    assert [url for url, _ in site.asked] == ["http://monitoring:9090/x", "http://monitoring:9090/x?continue=a%2Fb"]
    assert {node for node, _, _ in said()} == {"r1-n01", "r1-n02"}


def test_a_token_comes_from_the_environment_and_is_sent_as_the_program_expects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICEKEEPER_SIGNAL_TOKEN_WEST_1", "secret")
    site = Site({"nodes": []}, [])
    source_poll(add("slurm", "west-1"), site)
    source_poll(add("alertmanager", "west_1"), site)
    assert site.asked[0][1]["X-SLURM-USER-TOKEN"] == "secret"
    assert site.asked[1][1]["Authorization"] == "Bearer secret"


def test_a_source_is_given_to_one_asker_at_a_time_and_is_due_again_after_its_period() -> None:
    add("dcgm", every_s=60)
    now = wall_now()
    assert [source.name for source in sources_take_due(now)] == ["west"]
    assert sources_take_due(now + 59 * SECOND) == []
    assert len(sources_take_due(now + 60 * SECOND)) == 1


def test_sources_go_with_their_cluster() -> None:
    add("dcgm")
    sources_forget_removed([NAME])
    assert SignalSource.objects.count() == 1
    sources_forget_removed(["other"])
    assert SignalSource.objects.count() == 0


def test_the_task_hands_what_is_due_to_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    source, handed = add("dcgm"), []

    class Threads:
        def submit(self, _: object, what: SignalSource) -> None:
            handed.append(what)

    monkeypatch.setattr(polls, "_threads", Threads)
    monkeypatch.setattr(polls, "_asking", set())
    polls.look()
    SignalSource.objects.update(due_at=0)
    polls.look()  # it is still being asked
    assert handed == [source]
    assert app.conf.beat_schedule["polls"]["task"] == polls.look.name


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", ""), ("name", "a b"), ("name", "x" * 41), ("kind", "ftp"), ("url", "file:///etc/passwd"), ("every_s", 1), ("every_s", 9_999)],
)
def test_what_is_no_source_is_refused_by_its_field(field: str, value: Any) -> None:
    right = {"cluster": NAME, "name": "west", "kind": "dcgm", "url": "http://h/x", "every_s": 30}
    with pytest.raises(InvalidRequest) as refused:
        source_add(**{**right, field: value})
    assert refused.value.field == field


def test_the_command_adds_lists_and_removes() -> None:
    def run(*arguments: str) -> str:
        out = io.StringIO()
        call_command("signal_sources", "--cluster", NAME, *arguments, stdout=out)
        return out.getvalue()

    assert "no signals are fetched" in run()
    assert "dcgm every 30 s from http://h/x; not asked yet" in run("--add", "west", "--kind", "dcgm", "--url", "http://h/x")
    assert json.loads(run("--json"))["sources"][0]["name"] == "west"
    with pytest.raises(CommandError, match="already"):
        run("--add", "west", "--kind", "dcgm", "--url", "http://h/x")
    with pytest.raises(CommandError, match="--kind"):
        run("--add", "east")
    assert "no signals are fetched" in run("--remove", "west")
    with pytest.raises(CommandError, match="no source"):
        run("--remove", "west")
    with pytest.raises(CommandError, match="nowhere"):
        call_command("signal_sources", "--cluster", "nowhere")

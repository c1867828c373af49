"""Asking an address of the network: nothing is followed, nothing is without end, and some addresses are not asked at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from clusters.domain.errors import InvalidRequest
from clusters.signals import fetching
from clusters.signals.fetching import FetchError, check_url, fetch


class Handler(BaseHTTPRequestHandler):
    """Answers by the path."""

    def do_GET(self) -> None:
        status, headers, body = 200, {}, f"{self.path} {self.headers.get('Authorization', '')}".encode()
        if self.path.startswith("/elsewhere"):
            status, headers = 302, {"Location": "http://127.0.0.1:1/"}
        elif self.path == "/broken":
            status = 500
        elif self.path == "/large":
            body = b"x" * 5_000
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_the_body_comes_with_path_query_and_headers(server: str) -> None:
    assert fetch(f"{server}/a/b?c=d", {"Authorization": "Bearer x"}) == b"/a/b?c=d Bearer x"
    assert fetch(server).startswith(b"/ ")
    assert fetch(f'{server}/federate?match[]={{__name__=~"DCGM_.*"}}') == b"/federate?match[]=%7B__name__=~%22DCGM_.*%22%7D "


@pytest.mark.parametrize("path", ["/elsewhere", "/broken"])
def test_only_an_answer_that_is_the_answer_is_taken(server: str, path: str) -> None:
    with pytest.raises(FetchError, match="it answered"):
        fetch(server + path)


def test_an_answer_is_not_without_end(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_BYTES", 4_000)
    with pytest.raises(FetchError, match="MiB"):
        fetch(f"{server}/large")


def test_nobody_there_is_an_error_in_words() -> None:
    with pytest.raises(FetchError, match="refused"):
        fetch("http://127.0.0.1:1/")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("metadata", "169.254.169.254"),
        ("metadata6", "fe80::1"),
        ("inside", "127.0.0.1"),  # a name that leads back to this machine without saying so
        ("inside6", "::1"),
        ("mapped", "::ffff:127.0.0.1"),
        ("everywhere", "0.0.0.0"),
        ("many", "224.0.0.1"),
    ],
)
def test_some_addresses_are_not_asked(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("10.0.0.9", 80)), (0, 0, 0, "", (address, 80))])
    with pytest.raises(FetchError, match="not asked"):
        fetch(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "file:///etc/passwd",
        "ftp://h/",
        "http://",
        "http:///x",
        "http://u:p@h/",
        "http://h:0/",
        "http://h:x/",
        "http://h/a b",
        "http://h/\n",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest):
        check_url(url)

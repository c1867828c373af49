"""Lost frames, lost sockets and lost servers: the page says so, and ends up with what the server has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.e2e.fleet import expect_rack, live, open_table, say, shown, snapshot, table_of, unreloaded, until
from tests.e2e.server import Server

pytestmark = pytest.mark.e2e


class Network:
    """What lies between the page and the server's socket."""

    def __init__(self, page: Page) -> None:
        self.losing = False
        self.lost: list[dict[str, Any]] = []
        self.frames: list[dict[str, Any]] = []
        self.sockets: list[WebSocketRoute] = []
        page.route_web_socket("**/ws/**", self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        server = socket.connect_to_server()
        server.on_message(lambda text: self._pass(socket, text))

    def _pass(self, socket: WebSocketRoute, text: str | bytes) -> None:
        frame = json.loads(text)
        if self.losing and frame["type"] == "delta":
            self.lost.append(frame)
        else:
            self.frames.append(frame)
            socket.send(text)


@pytest.fixture
def drained(tab: Page) -> Iterator[list[str]]:
    """Nodes to be taken out of draining at the end."""
    nodes: list[str] = []
    yield nodes
    for node in nodes:
        say(tab, f"nodes/{node}/undrain/")


def drain(page: Page, node: str, drained: list[str]) -> None:
    say(page, f"nodes/{node}/drain/")
    drained.append(node)


def test_a_lost_frame_is_noticed_and_made_good(tab: Page, drained: list[str]) -> None:
    network = Network(tab)
    open_table(tab)
    network.losing = True
    drain(tab, "r004-n18", drained)
    until(tab, lambda: bool(network.lost), "a frame that was lost")
    expect_rack(tab, "r004", not_healthy="0")
    network.losing = False
    drain(tab, "r004-n17", drained)
    expect_rack(tab, "r004", not_healthy="2", out="2")
    assert shown(tab) == table_of(snapshot(tab))
    assert unreloaded(tab)


def test_a_lost_socket_is_opened_again_and_goes_on_where_it_was(tab: Page, drained: list[str]) -> None:
    network = Network(tab)
    open_table(tab)
    drain(tab, "r004-n18", drained)
    expect_rack(tab, "r004", not_healthy="1")
    network.losing = True
    drain(tab, "r004-n17", drained)
    until(tab, lambda: bool(network.lost), "a frame that was lost")
    network.losing = False
    network.sockets[-1].close(code=3001)
    expect_rack(tab, "r004", not_healthy="2")
    live(tab)
    assert len(network.sockets) == 2
    assert [frame["type"] for frame in network.frames].count("resync") == 0  # what was missed was sent again
    assert shown(tab) == table_of(snapshot(tab))
    assert unreloaded(tab)


def test_a_restarted_server_is_found_again(tab: Page, server: Server, drained: list[str], complaints: list[str]) -> None:
    open_table(tab)
    server.stop()
    expect(tab.locator("[data-live-status]")).to_have_attribute("data-live-status", "reconnecting")
    expect(tab.locator("[data-live-banner]")).to_be_visible()
    server.start()
    live(tab)
    drain(tab, "r004-n16", drained)
    expect_rack(tab, "r004", not_healthy="1")
    assert shown(tab) == table_of(snapshot(tab))
    assert unreloaded(tab)
    # The browser itself writes a line for each refused connection; nothing else may be among them.
    assert all("ERR_CONNECTION" in line or "WebSocket connection" in line for line in complaints), complaints
    complaints.clear()

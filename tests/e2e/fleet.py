"""The pages as a person uses them."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from frontend.pages import palette
from tests.e2e.server import CLUSTER
from tests.support.patience import PATIENCE

FLEET = f"/clusters/{CLUSTER}/"
API = f"/api/v1/clusters/{CLUSTER}/"

#: Columns of the table beside the map.
COLUMNS = ("Rack", "Block", "State", "Nodes", "In use", "Reserved", "Spare", "Idle", "Stranded", "Out", "Not healthy", "Jobs")

#: What each state of a rack is called.
RACK_STATES = {state.value: state.label for state in palette.RACK_STATES}


def mark(page: Page) -> Page:
    """Leave a mark that a reload would wipe out."""
    page.evaluate("window.here = true")
    return page


def unreloaded(page: Page) -> bool:
    """Whether the mark is still there."""
    return bool(page.evaluate("window.here === true"))


def until(page: Page, holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds. (Playwright's own waiting for scripts needs eval, which the pages forbid.)"""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"never came: {what}")
        page.wait_for_timeout(50)


def open_live(page: Page, path: str) -> Page:
    """Open a page and wait until it follows its cluster."""
    page.goto(path)
    live(page)
    return mark(page)


def live(page: Page) -> None:
    """Wait until the page says that it is live."""
    expect(page.locator("[data-live-status]")).to_have_attribute("data-live-status", "live")


def open_table(page: Page) -> Page:
    """Open the fleet and show it as a table."""
    open_live(page, FLEET)
    page.locator("label", has=page.locator("input[name=map-view][value=table]")).click()
    return page


def rack_row(page: Page, rack: str) -> Locator:
    """The row of a rack."""
    return page.locator("[data-map-table] tbody tr", has=page.get_by_role("link", name=rack, exact=True))


def expect_rack(page: Page, rack: str, **cells: str) -> None:
    """Wait until the row of a rack shows these texts; columns are named in lower case with underscores."""
    for name, text in cells.items():
        column = COLUMNS.index(name.replace("_", " ").capitalize())
        cell = rack_row(page, rack).locator("th, td").nth(column)
        expect(cell).to_have_text(text)


def shown(page: Page) -> dict[str, list[str]]:
    """What the table shows, by rack."""
    rows = page.locator("[data-map-table] tbody tr").all()
    texts = [row.locator("th, td").all_inner_texts() for row in rows]
    return {cells[0]: cells[1:] for cells in texts}


def snapshot(page: Page) -> dict[str, Any]:
    """The server's state, by the page's session."""
    body: dict[str, Any] = page.request.get(f"{API}snapshot/").json()
    return body


def table_of(body: dict[str, Any]) -> dict[str, list[str]]:
    """What the table should show of a snapshot."""
    use, condition = base64.b64decode(body["use"]), base64.b64decode(body["condition"])
    external, stopping, allocated, lent, shared, reserved, out, spare, stranded, idle = range(10)
    table = {}
    for rack in body["racks"]:
        own = slice(rack["first"], rack["first"] + rack["count"])
        uses = use[own]
        jobs = sorted({body["jobs"][job] for job in body["node_job"][own] if job >= 0})
        busy = sum(uses.count(code) for code in (external, stopping, allocated, lent, shared))
        unhealthy = rack["count"] - condition[own].count(8)
        free = [uses.count(code) for code in (reserved, spare, idle, stranded, out)]
        assert busy + sum(free) == rack["count"], "the columns leave nodes out"
        numbers = [rack["count"], busy, *free, unhealthy]
        state = RACK_STATES[body["rack_states"].get(rack["name"], "open")]
        table[rack["name"]] = [body["blocks"][rack["block"]], state, *map(str, numbers), ", ".join(jobs)]
    return table


def say(page: Page, path: str, reason: str = "") -> None:
    """Do something over the API with the page's session, as its own buttons do."""
    token = page.locator("body").get_attribute("data-csrf") or ""
    answer = page.request.post(f"{API}{path}", data={"reason": reason} if reason else {}, headers={"X-CSRFToken": token})
    assert answer.ok, answer.text()


def press(page: Page, button: str, reason: str = "") -> None:
    """Press a button that asks first, and say yes."""
    page.locator(button).click()
    dialog = page.locator("#confirm")
    expect(dialog).to_be_visible()
    if reason:
        dialog.get_by_label("Reason").fill(reason)
    dialog.locator("[data-confirm-yes]").click()
    expect(dialog).not_to_be_visible()


def fits(page: Page) -> None:
    """Nothing of the page lies beside the window."""
    width, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width <= room

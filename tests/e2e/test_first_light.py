"""The whole loop in a browser: submit, see it placed, fail nodes, see swaps and a move, and nothing is ever reloaded."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.e2e.fleet import expect_rack, live, mark, open_live, open_table, press, shown, snapshot, table_of, unreloaded
from tests.e2e.server import CLUSTER

pytestmark = pytest.mark.e2e


def test_a_job_is_placed_in_two_racks_swapped_twice_and_moved_while_three_tabs_watch(
    window: BrowserContext, elsewhere: BrowserContext
) -> None:
    fleet, job, rack = elsewhere.new_page(), window.new_page(), window.new_page()
    open_table(fleet)
    expect_rack(fleet, "r001", in_use="0", idle="16", stranded="2", jobs="")

    job.goto(f"/clusters/{CLUSTER}/jobs/new/")
    job.locator("#id_name").fill("first light")
    job.locator("#id_nodes").fill("32")
    expect(job.locator("[data-preview-text]")).to_contain_text("2 slices: 16 + 16 nodes")
    job.get_by_role("button", name="Submit job").click()
    job.wait_for_url(re.compile(r"/jobs/j\d{6}/$"))
    live(mark(job))
    name = job.url.rstrip("/").rpartition("/")[2]

    # Placed 16 + 16 with the spares of both racks kept, and running.
    for number in ("r001", "r002"):
        expect_rack(fleet, number, in_use="16", spare="2", idle="0", jobs=name)
    expect_rack(fleet, "r003", in_use="0", jobs="")
    expect(job.locator(".slice")).to_have_count(2)
    expect(job.locator(".tray.is-own")).to_have_count(32)
    expect(job.locator(".chip", has_text="Running")).to_be_visible()
    expect(fleet.locator("[data-figure=running]")).to_have_text("1")

    # Two failures: spares of the same rack take the places.
    open_live(rack, f"/clusters/{CLUSTER}/racks/r001/")
    timeline = job.get_by_role("region", name="Timeline")
    for failed, (node, spare) in enumerate((("r001-n01", "r001-n17"), ("r001-n02", "r001-n18")), 1):
        press(rack, f"#fail-{node}", reason="smoke")
        expect(timeline).to_contain_text(f"{spare} took the place of {node}")
        expect(job.locator(".slice")).to_have_count(2)
        expect_rack(fleet, "r001", in_use="16", spare=str(2 - failed), out=str(failed), not_healthy=str(failed), jobs=name)
        expect(rack.locator("tr", has_text=node).get_by_text("Failed", exact=True)).to_be_visible()
        expect(rack.locator("tr", has_text=spare).get_by_text("slot " + str(failed - 1), exact=True)).to_be_visible()

    # A third one: no spare is left, so that slice moves whole; the other one is not touched.
    press(rack, "#fail-r001-n03", reason="smoke")
    expect(timeline).to_contain_text("Slice 0 moved from r001 to r003")
    expect_rack(fleet, "r003", in_use="16", spare="2", jobs=name)
    expect_rack(fleet, "r001", in_use="0", out="3", not_healthy="3", jobs="")
    expect_rack(fleet, "r002", in_use="16", spare="2", jobs=name)
    expect(job.locator(".slice figcaption")).to_have_text(["0 r003", "1 r002"])
    expect(job.locator(".chip", has_text="Running")).to_be_visible()
    expect(job.get_by_text("2, 1", exact=True)).to_be_visible()

    assert shown(fleet) == table_of(snapshot(fleet))
    assert unreloaded(fleet)
    assert unreloaded(job)
    assert unreloaded(rack)

    # Cancelled: its work is asked to stop, and its nodes are free once it has.
    press(job, f"#cancel-{name}", reason="done with it")
    expect(job.locator(".chip", has_text="Cancelled")).to_be_visible()
    for number in ("r002", "r003"):
        expect_rack(fleet, number, in_use="0", jobs="")
    for node in ("r001-n01", "r001-n02", "r001-n03"):
        press(rack, f"#repair-{node}")
    expect_rack(fleet, "r001", out="0", not_healthy="0")
    assert unreloaded(rack)

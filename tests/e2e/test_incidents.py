"""Incidents and rack states as they happen. The rack is avoided afterwards: the story of first light, on fresh racks, comes before."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.fleet import FLEET, open_live, press, say

pytestmark = pytest.mark.e2e


def test_incidents_and_rack_states_show_as_they_happen(tab: Page, window: BrowserContext) -> None:
    open_live(tab, FLEET)
    incidents = tab.get_by_role("region", name="Open incidents")
    expect(incidents).to_contain_text("No node is failed")
    rack = open_live(window.new_page(), f"{FLEET}racks/r002/")
    say(rack, "nodes/r002-n05/fail/", "fan")
    expect(incidents).to_contain_text("r002-n05")
    expect(incidents).to_contain_text("Failed: fan")
    expect(rack.locator("#past-r002-n05")).to_be_visible()

    rack.get_by_label("Rack state").select_option("no_new_long_jobs")
    rack.get_by_label("which begins in").fill("2")
    press(rack, "#rack-state-set", reason="new fans")
    expect(rack.locator("[data-rack-state=no_new_long_jobs]")).to_contain_text("new fans")
    rack.get_by_label("Rack state").select_option("open")
    press(rack, "#rack-state-set")
    expect(rack.locator("[data-rack-state=open]")).to_be_visible()
    press(rack, "#repair-r002-n05", reason="new fan")
    expect(incidents).to_contain_text("No node is failed")

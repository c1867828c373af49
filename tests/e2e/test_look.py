"""Every page on light and dark ground, wide and narrow, by pointer and by keyboard."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fleet import FLEET, open_live
from tests.e2e.server import CLUSTER

pytestmark = pytest.mark.e2e

PAGES = {
    "fleet": FLEET,
    "rack": f"{FLEET}racks/r001/",
    "capacity": f"{FLEET}capacity/",
    "jobs": f"{FLEET}jobs/",
    "submit": f"{FLEET}jobs/new/",
    "plans": f"{FLEET}plans/",
    "policy": f"{FLEET}policy/",
}

LIGHTNESS = """
() => {
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.fillStyle = getComputedStyle(document.body).backgroundColor;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
  return (red + green + blue) / 765;
}
"""


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_follow_the_scheme_of_the_system(tab: Page, name: str, scheme: Literal["light", "dark"]) -> None:
    tab.emulate_media(color_scheme=scheme)
    open_live(tab, PAGES[name])
    lightness = float(tab.evaluate(LIGHTNESS))
    assert (lightness > 0.5) is (scheme == "light")


def test_the_theme_can_be_chosen_and_is_remembered(tab: Page) -> None:
    tab.emulate_media(color_scheme="light")
    open_live(tab, FLEET)
    before = float(tab.evaluate(LIGHTNESS))
    while float(tab.evaluate(LIGHTNESS)) > 0.5:
        tab.locator("[data-theme-toggle]").click()
    assert before > 0.5
    open_live(tab, PAGES["jobs"])
    assert float(tab.evaluate(LIGHTNESS)) < 0.5


def test_a_click_on_the_map_opens_the_rack(tab: Page) -> None:
    open_live(tab, FLEET)
    stage = tab.locator("[data-map-stage]")
    tab.wait_for_timeout(300)
    stage.click(position={"x": 30, "y": 120})
    tab.wait_for_url(f"**/clusters/{CLUSTER}/racks/r001/")
    expect(tab.locator("svg.elevation")).to_be_visible()


def test_the_keyboard_opens_a_rack(tab: Page) -> None:
    open_live(tab, FLEET)
    tab.locator("[data-map-stage]").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/racks/r002/")


def test_signing_out_ends_what_is_shown(tab: Page) -> None:
    open_live(tab, FLEET)
    tab.get_by_label("Account admin").click()
    tab.get_by_role("button", name="Sign out").click()
    tab.wait_for_url("**/login/")
    tab.goto(FLEET)
    expect(tab.get_by_text(".venv/bin/python manage.py login_link")).to_be_visible()

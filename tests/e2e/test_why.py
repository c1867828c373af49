"""A job from the form to its answers in a browser: the preview as it is typed, why it waits, and what would start it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fleet import FLEET, open_live, press, say, until
from tests.e2e.test_launch import submit

pytestmark = pytest.mark.e2e


def test_the_preview_shows_the_slices_as_they_are_typed(tab: Page) -> None:
    open_live(tab, f"{FLEET}jobs/new/")
    tab.locator("#id_nodes").fill("24")
    preview = tab.get_by_role("complementary", name="Slices")
    expect(preview.locator(".mini-slice")).to_have_count(2)
    tab.get_by_text("Where: levels, layers, racks of its own").click()
    tab.get_by_label("Layers").fill("rack 5")
    expect(preview).to_contain_text("can never be placed here")
    tab.get_by_label("Layers").fill("rack 8")
    expect(preview.locator(".mini-slice")).to_have_count(3)
    tab.locator("#id_nodes").fill("")
    tab.get_by_text("Parallelism: degrees of its plan").click()
    tab.get_by_label("Layers").fill("")
    tab.get_by_label("TP", exact=True).fill("64")
    expect(preview).to_contain_text("1 slice of 16 nodes")


def test_a_waiting_job_is_told_what_would_start_it_and_starts_then(tab: Page) -> None:
    open_live(tab, FLEET)
    first = submit(tab, name="first", nodes=64, time_limit_s=7200)
    expect(tab.locator("[data-figure=running]")).to_have_text("1")
    tab.goto(f"{FLEET}jobs/new/")
    tab.locator("#id_name").fill("second")
    tab.locator("#id_nodes").fill("16")
    tab.get_by_role("button", name="Submit job").click()
    waiting = tab.get_by_role("region", name="Why it waits")
    expect(waiting).to_contain_text("Number 1 of 1 in the queue.")
    expect(waiting).to_contain_text("What would let it start")
    expect(waiting).to_contain_text(f"when {first} ends.")
    second = tab.url.rstrip("/").rpartition("/")[2]
    for width in (1440, 390):
        tab.set_viewport_size({"width": width, "height": 844})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    other = tab.context.new_page()
    open_live(other, f"{FLEET}jobs/{first}/")
    press(other, f"#cancel-{first}", reason="done")
    expect(other.get_by_role("region", name="Slices it had")).to_be_visible()
    expect(waiting).not_to_be_visible()
    expect(tab.locator(".chip", has_text="Running")).to_be_visible()
    press(tab, f"#cancel-{second}", reason="done")
    expect(tab.locator(".chip", has_text="Cancelled")).to_be_visible()


#: The mean of all that is drawn on the map; where a job is followed, all other nodes fade.
STRENGTH = """
canvas => {
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  return data.reduce((sum, value) => sum + value, 0) / data.length;
}
"""


def test_following_a_job_that_is_nowhere_leaves_the_map_as_it_is(tab: Page) -> None:
    open_live(tab, FLEET)
    job = submit(tab, name="followed", nodes=8)
    expect(tab.locator("[data-figure=running]")).to_have_text("1")
    canvas, field = tab.locator("[data-map-stage] canvas"), tab.get_by_label("Follow a job on the map")

    def follow(name: str) -> None:
        field.fill(name)
        field.press("Enter")

    before: float = canvas.evaluate(STRENGTH)
    follow("j999999")
    tab.wait_for_timeout(500)  # for what should not come
    change = abs(canvas.evaluate(STRENGTH) - before)
    follow(job)
    until(tab, lambda: abs(canvas.evaluate(STRENGTH) - before) > 10 * change, "the fading of all other nodes")
    say(tab, f"jobs/{job}/cancel/", "done")


def test_a_telephone_offers_the_form(tab: Page) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    open_live(tab, FLEET)
    expect(tab.get_by_role("link", name="Submit job")).to_be_visible()

"""The capacity page in a browser: the chart's point moves with the map's cell, and the strip is worked by hand and by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.e2e.fleet import FLEET, expect_rack, open_live, open_table, press, say, unreloaded, until

pytestmark = pytest.mark.e2e

CAPACITY = f"{FLEET}capacity/"
NODE = "r004-n09"


def open_capacity(page: Page, query: str = "") -> Page:
    open_live(page, f"{CAPACITY}{query}")
    for name in ("usable", "history"):
        expect(page.locator(f"[data-chart={name}] .main-svg").first).to_be_visible()
    return page


def points(page: Page) -> dict[str, tuple[float, float]]:
    """The live points as the chart has them: size -> (per cent unavailable, usable nodes)."""
    script = """
    document.querySelector("[data-chart=usable]").data.filter((trace) => trace.mode === "markers")
      .map((trace) => [trace.legendgroup, [trace.x[0], trace.y[0]]])
    """
    return {size: (x, y) for size, (x, y) in page.evaluate(script)}


def stacked(page: Page) -> list[float]:
    """The sums of the areas at each instant."""
    script = """
    (() => {
      const traces = document.querySelector("[data-chart=history]").data;
      return traces[0].x.map((_, place) => traces.reduce((sum, trace) => sum + trace.y[place], 0));
    })()
    """
    sums: list[float] = page.evaluate(script)
    return sums


def until_true(page: Page, script: str) -> None:
    """Wait until the script says yes."""
    until(page, lambda: bool(page.evaluate(script)), script)


def usable(page: Page, size: str) -> Locator:
    return page.locator(f'[data-usable-now="{size}"]')


def test_failing_a_node_moves_the_cell_and_the_point_and_nothing_is_reloaded(window: BrowserContext) -> None:
    capacity, fleet, rack = (window.new_page() for _ in range(3))
    open_capacity(capacity, "?sizes=16,18,12%2B6,17")
    open_table(fleet)
    open_live(rack, f"{FLEET}racks/r004/")
    before: dict[str, Any] = points(capacity)
    assert before == {"16": (0, 64), "18": (0, 72), "12+6": (0, 72), "17": (0, 68)}
    press(rack, f"#fail-{NODE}", reason="chart")
    expect_rack(fleet, "r004", out="1", not_healthy="1")
    expect(usable(capacity, "18")).to_have_text("54")
    expect(usable(capacity, "12+6")).to_have_text("66")
    expect(usable(capacity, "16")).to_have_text("64")
    expect(capacity.locator("[data-now-share]")).to_have_text("1.39 %")
    until_true(capacity, "document.querySelector('[data-chart=usable]').data.some((trace) => trace.x[0] > 1 && trace.mode === 'markers')")
    share = 100 / 72
    assert points(capacity) == {size: (pytest.approx(share), nodes) for size, nodes in {"16": 64, "18": 54, "12+6": 66, "17": 68}.items()}
    press(rack, f"#repair-{NODE}")
    expect(usable(capacity, "18")).to_have_text("72")
    assert unreloaded(capacity)
    assert unreloaded(fleet)


def test_the_books_over_time_sum_to_all_nodes_and_the_last_area_is_now(tab: Page) -> None:
    open_capacity(tab)
    say(tab, f"nodes/{NODE}/drain/")
    until_true(
        tab,
        "document.querySelector('[data-chart=history]').data.some((trace) => trace.name === 'Out' && trace.y[trace.y.length - 1] === 1)",
    )
    sums = stacked(tab)
    assert sums
    assert set(sums) == {72}
    tab.locator("label", has=tab.locator("input[name=partition][value=condition]")).click()
    until_true(tab, "document.querySelector('[data-chart=history]').data.some((trace) => trace.name === 'Draining')")
    assert set(stacked(tab)) == {72}
    say(tab, f"nodes/{NODE}/undrain/")
    assert unreloaded(tab)


def test_the_strip_fails_nodes_by_pointer_and_by_keyboard(tab: Page) -> None:
    open_capacity(tab)
    nodes = tab.locator("[data-strip-node]")
    line = tab.locator("[data-strip-line]")
    expect(nodes).to_have_count(18)
    expect(line).to_contain_text("All well; nodes that slices can use, by size: 8: 16, 9: 18, 16: 16, 18: 18")
    nodes.nth(4).click()
    expect(line).to_contain_text("1 failed; nodes that slices can use, by size: 8: 16, 9: 9, 16: 16, 18: 0")
    nodes.nth(4).focus()
    for key in ("ArrowRight", "Space", "ArrowRight", "Enter"):
        tab.keyboard.press(key)
    expect(line).to_contain_text("3 failed; nodes that slices can use, by size: 8: 8, 9: 9, 16: 0, 18: 0")
    expect(tab.locator("thead .is-here")).to_have_text("3")
    assert [node.get_attribute("aria-pressed") for node in nodes.all()[3:8]] == ["false", "true", "true", "true", "false"]
    tab.get_by_role("button", name="Repair all").click()
    expect(line).to_contain_text("All well")


def test_the_chart_follows_the_theme_and_offers_its_picture(tab: Page) -> None:
    tab.emulate_media(color_scheme="light")
    open_capacity(tab)
    ink = "getComputedStyle(document.querySelector('[data-chart=usable] .xtick text')).fill"
    light = tab.evaluate(ink)
    tab.emulate_media(color_scheme="dark")
    until_true(tab, f"{ink} !== '{light}'")
    offered = {str(button.get_attribute("data-title")) for button in tab.locator("[data-chart=usable] .modebar-btn").all()}
    assert offered == {"Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"}  # and nothing that sends data away
    tab.locator("[data-chart=usable]").hover()
    with tab.expect_download() as download:
        tab.locator("[data-chart=usable] [data-title^=Download]").click()
    assert download.value.suggested_filename.endswith(".png")


def test_without_scripts_the_tables_say_the_same(window: BrowserContext, browser: Any, session: Any, server: Any) -> None:
    context = browser.new_context(storage_state=session, base_url=server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto(CAPACITY)
    expect(usable(page, "16")).to_have_text("64")
    expect(page.locator(".strip-table tbody tr")).to_have_count(4)
    expect(page.locator("[data-strip-nodes]")).to_be_hidden()
    page.get_by_text("The curves as a table").click()
    expect(page.get_by_role("row", name="0.0 %")).to_contain_text("72.0")
    context.close()


def test_spares_on_the_fleet_page_follow_a_failure(tab: Page) -> None:
    open_live(tab, FLEET)
    panel = tab.get_by_role("region", name="Spares")
    expect(panel).to_contain_text("owes spares")
    expect(panel).to_contain_text("Repaired nodes become spares by themselves")

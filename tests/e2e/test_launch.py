"""The ranks of a job in a browser: they appear once it has nodes, follow a swap, and come as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fleet import API, FLEET, open_live, press, unreloaded

pytestmark = pytest.mark.e2e

SUBMIT = """
async ([url, body]) => {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": document.body.dataset.csrf };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()).id;
}
"""


def submit(page: Page, **fields: Any) -> str:
    """The id of a job."""
    return str(page.evaluate(SUBMIT, [f"{API}jobs/", {"kind": "training", **fields}]))


def test_ranks_are_drawn_in_their_groups_and_can_be_downloaded(tab: Page) -> None:
    open_live(tab, FLEET)
    name = submit(tab, name="ranks", nodes=16, plan={"tp": 8, "ep": 1, "pp": 2, "dp": 4})
    open_live(tab, f"{FLEET}jobs/{name}/")
    ranks = tab.get_by_role("region", name="Ranks and launch")
    expect(ranks.locator(".rank-group")).to_have_count(8)
    expect(ranks.locator(".rank-gpu")).to_have_count(64)
    expect(ranks).to_contain_text("64 ranks on 16 nodes, generation 1")

    first = ranks.locator(".rank-node title").first
    node = (first.text_content() or "").partition(",")[0]
    rack = node.partition("-")[0]
    other = tab.context.new_page()
    open_live(other, f"{FLEET}racks/{rack}/")
    press(other, f"#fail-{node}", reason="test")
    expect(ranks).to_contain_text("generation 2")
    expect(first).not_to_contain_text(f"{node},")
    assert unreloaded(tab)

    with tab.expect_download() as waiting:
        ranks.get_by_role("link", name="hostfile", exact=True).click()
    hosts = [line for line in Path(waiting.value.path()).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert waiting.value.suggested_filename == f"{name}.2.hostfile"
    assert len(hosts) == 16
    assert hosts[0] != f"{node} slots=4"

    for width in (1440, 390):
        tab.set_viewport_size({"width": width, "height": 844})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    press(tab, f"#cancel-{name}", reason="done")
    expect(tab.locator(".chip", has_text="Cancelled")).to_be_visible()
    press(other, f"#repair-{node}")

"""Every page fits a telephone, a form with errors leads to the first of them, and racks show which work they take."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.urls import NoReverseMatch, reverse
from playwright.sync_api import Page, expect

from frontend.accounts.routes import PAGES
from tests.e2e.fleet import FLEET, RACK_STATES, expect_rack, fits, live, open_live, open_table, press, say
from tests.e2e.server import CLUSTER
from tests.e2e.test_launch import submit

pytestmark = pytest.mark.e2e

JOB = "j000000"

#: What the addresses of pages may name.
NAMES: tuple[dict[str, str], ...] = (
    {},
    {"cluster": CLUSTER},
    {"cluster": CLUSTER, "rack": "r001"},
    {"cluster": CLUSTER, "job": JOB},
    {"cluster": CLUSTER, "plan": "p000000"},
    {"upload": "00000000-0000-0000-0000-000000000000"},
)

#: Pages about what a quiet cluster has not: the stories that make it look at their width.
ELSEWHERE = {"frontend:plan", "frontend:import-preview"}


def address(route: str) -> str:
    """Where a route answers."""
    for names in NAMES:
        try:
            return reverse(route, kwargs=names)
        except NoReverseMatch:
            continue
    raise LookupError(route)


WHOLE = {route: address(route) for route, row in PAGES.items() if "GET" in row and "/parts/" not in address(route)}
ROUTES = {route: path for route, path in WHOLE.items() if route not in ELSEWHERE}


@pytest.fixture
def job(tab: Page) -> Iterator[str]:
    """A job with a long name, until the test is over."""
    open_live(tab, FLEET)
    name = submit(tab, name="a-rather-long-name-of-a-job", gpus=1)
    yield name
    say(tab, f"jobs/{name}/cancel/", "done")


@pytest.mark.parametrize("route", ROUTES)
def test_a_telephone_shows_a_page_without_scrolling_sideways(tab: Page, request: pytest.FixtureRequest, route: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    path = ROUTES[route]
    if JOB in path:
        path = path.replace(JOB, request.getfixturevalue("job"))
    answer = tab.goto(path)
    assert answer is not None
    assert answer.ok
    if tab.locator("[data-live-status]").count():
        live(tab)
    fits(tab)
    tab.evaluate("document.querySelectorAll('details:not(.menu)').forEach((fold) => (fold.open = true))")
    fits(tab)


def test_the_menu_of_a_telephone_leads_to_every_page(tab: Page) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    open_live(tab, FLEET)
    expect(tab.get_by_role("link", name="Policy")).to_have_count(0)
    tab.get_by_label(f"Pages of {CLUSTER}").click()
    expect(tab.get_by_role("link", name="Import")).to_be_visible()
    fits(tab)
    tab.get_by_role("link", name="Policy").click()
    tab.wait_for_url(f"**{FLEET}policy/")


def test_a_job_with_errors_leads_to_the_first_of_them(tab: Page, complaints: list[str]) -> None:
    open_live(tab, f"{FLEET}jobs/new/")
    tab.get_by_label("Name", exact=True).fill("x")
    tab.get_by_text("When it may start").click()
    tab.get_by_label("After", exact=True).fill("soon")
    tab.get_by_role("button", name="Submit job").click()
    after = tab.get_by_label("After", exact=True)
    expect(after).to_be_focused()
    expect(after).to_have_accessible_description("Jobs that must have finished, such as j000123. Give ids of jobs, such as j000123.")
    expect(tab.get_by_role("alert")).to_contain_text("1 field needs another look")
    complaints[:] = [text for text in complaints if "422" not in text]  # the browser notes the answer's status


def test_a_policy_with_errors_leads_to_the_first_and_links_to_the_others(tab: Page, complaints: list[str]) -> None:
    open_live(tab, f"{FLEET}policy/")
    tab.get_by_label("Cool-down of a workload").fill("-1")
    tab.get_by_label("Quotas of teams: GPUs, row 1").fill("4")
    tab.get_by_label("Time of a search").fill("0")
    tab.get_by_role("button", name="Show what would change").click()
    expect(tab.get_by_label("Cool-down of a workload")).to_be_focused()
    summary = tab.get_by_role("alert")
    expect(summary).to_contain_text("2 fields need another look")
    summary.get_by_role("link", name="Time of a search").click()
    last = tab.get_by_label("Time of a search")
    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()
    complaints[:] = [text for text in complaints if "422" not in text]


def test_the_map_and_the_table_show_which_work_racks_take(tab: Page) -> None:
    rack = tab.context.new_page()
    open_live(rack, f"{FLEET}racks/r004/")
    open_table(tab)
    expect_rack(tab, "r004", state=RACK_STATES["open"])
    draining = tab.locator("[data-legend-kind=rack][data-legend-value=draining] [data-legend-count]")
    out = tab.locator("[data-legend-kind=rack][data-legend-value=out] [data-legend-count]")
    expect(out).to_have_text("0")
    before = picture(tab)
    rack.get_by_label("Rack state").select_option("out")
    press(rack, "#rack-state-set", reason="new pump")
    expect_rack(tab, "r004", state=RACK_STATES["out"])
    expect(out).to_have_text("1")
    expect(draining).to_have_text("0")
    expect(rack.locator("[data-rack-state=out]")).to_contain_text("Out of service: new pump")
    assert picture(tab) != before
    rack.get_by_label("Rack state").select_option("open")
    press(rack, "#rack-state-set")
    expect_rack(tab, "r004", state=RACK_STATES["open"])


def picture(tab: Page) -> str:
    """What the map's canvas shows; it is drawn behind the table too."""
    return str(tab.evaluate("document.querySelector('[data-map-stage] canvas').toDataURL()"))

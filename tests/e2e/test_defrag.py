"""A job that topology keeps waiting is let in by a person: the plan, the decision, what follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.fleet import API, FLEET, fits, live, open_live, press, say
from tests.e2e.test_launch import submit

pytestmark = pytest.mark.e2e

RACKS = 4
IN_A_RACK = 4  # jobs of four nodes; beside them two nodes are spares


def change_policy(page: Page, **values: int) -> dict[str, Any]:
    """Put these settings in force; what they were."""
    known: dict[str, Any] = page.request.get(f"{API}policy/").json()
    token = page.locator("body").get_attribute("data-csrf") or ""
    body = {"policy": values, "reason": "test", "expected_version": known["version"]}
    answer = page.request.put(f"{API}policy/", data=body, headers={"X-CSRFToken": token})
    assert answer.ok, answer.text()
    return {name: known["policy"][name] for name in values}


@pytest.fixture
def hasty(window: BrowserContext) -> Iterator[Page]:
    """A page of a cluster in which plans are made at once; all its jobs are cancelled in the end."""
    page = window.new_page()
    open_live(page, FLEET)
    before = change_policy(page, defrag_wait_s=1, defrag_grace_s=0)
    yield page
    page.goto(FLEET)
    change_policy(page, **before)
    for state in ("waiting", "running"):
        for job in page.request.get(f"{API}jobs/?state={state}").json()["items"]:
            say(page, f"jobs/{job['id']}/cancel/", "done")
    expect(page.locator("[data-figure=in-use]")).to_have_text("0.0 %")
    page.close()


def fragmented(page: Page) -> list[str]:
    """Four nodes of each rack are free, and a job of 16 fits nowhere: the jobs that run."""
    jobs = [submit(page, name=f"small-{number}", nodes=4) for number in range(RACKS * IN_A_RACK)]
    running = page.locator("[data-figure=running]")
    expect(running).to_have_text(str(len(jobs)))
    domains: dict[str, str] = {}
    for job in jobs:
        domain = page.request.get(f"{API}jobs/{job}/").json()["slices"][0]["domain"]
        domains.setdefault(domain, job)
    assert len(domains) == RACKS
    for job in domains.values():
        say(page, f"jobs/{job}/cancel/", "makes room")
    expect(running).to_have_text(str(len(jobs) - RACKS))
    expect(page.locator("[data-figure=in-use]")).to_have_text("66.7 %")
    return [job for job in jobs if job not in domains.values()]


def test_a_blocked_job_is_freed_through_the_page(hasty: Page, window: BrowserContext) -> None:
    fragmented(hasty)
    plans = open_live(window.new_page(), f"{FLEET}plans/")
    expect(plans.get_by_text("No plan waits or runs")).to_be_visible()
    job = submit(hasty, name="large", nodes=16)

    expect(hasty.locator(".plan-note")).to_contain_text(f"would make room for {job}: 3 jobs would give way")
    row = plans.get_by_role("row", name="waits for a decision")
    expect(row).to_contain_text(f"{job} large")
    expect(row).to_contain_text("3 jobs, 12 nodes")
    waiting = open_live(window.new_page(), f"{FLEET}jobs/{job}/")
    expect(waiting.locator(".plan-note")).to_contain_text("would make room")
    waiting.locator(".plan-note a").first.click()
    waiting.wait_for_url("**/plans/p*/")
    page = waiting
    live(page)
    expect(page.locator("[data-certificate]")).to_contain_text("Proven cheapest")
    before, after = page.get_by_role("region", name="Before"), page.get_by_role("region", name="After")
    expect(before.locator(".is-moved")).to_have_count(12)
    expect(after.locator(".is-moved")).to_have_count(12)
    expect(after.locator(".is-freed .is-kept")).to_have_count(18)
    moves = page.get_by_role("region", name="Moves, in order").locator("tbody tr")
    expect(moves).to_have_count(3)
    victims = [text.split()[0] for text in moves.locator("td:nth-of-type(1)").all_inner_texts()]

    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)
    page.set_viewport_size({"width": 1280, "height": 900})

    press(page, "#plan-approve")
    expect(page.locator("[data-plan-status=finished]")).to_be_visible()
    expect(moves.get_by_text("done")).to_have_count(3)
    since = page.get_by_role("region", name="What happened since")
    expect(since).to_contain_text("approved")
    expect(since).to_contain_text(job)
    open_live(page, f"{FLEET}jobs/{job}/")
    expect(page.locator(".chip", has_text="Running")).to_be_visible()
    for victim in victims:
        open_live(page, f"{FLEET}jobs/{victim}/")
        expect(page.locator(".chip", has_text="Running")).to_be_visible()
        expect(page.get_by_role("region", name="Timeline")).to_contain_text("Slice 0 moved from")
    expect(hasty.locator(".plan-note")).to_have_count(0)


def test_a_plan_can_be_rejected_and_domains_asked_for(hasty: Page) -> None:
    fragmented(hasty)
    page = open_live(hasty, f"{FLEET}plans/")
    page.get_by_label("Free", exact=True).fill("1")
    page.get_by_role("button", name="What would it take?").click()
    expect(page.get_by_role("heading", name="What it would take to free 1 domain")).to_be_visible()
    expect(page.get_by_role("region", name="After").locator(".is-freed .is-kept")).to_have_count(18)
    live(page)
    press(page, "#room-request", reason="tonight")
    page.get_by_role("link", name="Plans", exact=True).first.click()
    row = page.get_by_role("row", name="waits for a decision")
    expect(row).to_contain_text("1 whole domain")
    row.get_by_role("link").first.click()
    page.wait_for_url("**/plans/p*/")
    live(page)
    press(page, "#plan-reject", reason="not tonight")
    expect(page.locator("[data-plan-status=rejected]")).to_be_visible()
    expect(page.get_by_text("Ended: not tonight.")).to_be_visible()

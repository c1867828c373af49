"""One server and one browser for all browser tests; each test has a window of its own, and fails if a page complains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.e2e.server import Server, serving
from tests.support.patience import PATIENCE

CHROMIUM = "/usr/bin/chromium"
QUIETLY = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip

#: Longest wait for a page to show something, in milliseconds.
PATIENCE_MS = 1000 * PATIENCE

#: What a page must not do is kept where the test can see it, and so is a mark that a reload would wipe out.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("e2e")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def session(server: Server, browser: Browser) -> Any:
    """What a browser keeps once somebody has signed in by the link that the server printed."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/login/" not in url)
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def complaints() -> list[str]:
    """What pages complained of."""
    return []


@pytest.fixture
def window(server: Server, browser: Browser, session: Any, complaints: list[str]) -> Iterator[BrowserContext]:
    """A browser window of somebody signed in. No page of it may complain in the console or break the content policy."""
    with opened(browser, session, server.url, complaints) as context:
        yield context


@pytest.fixture
def elsewhere(server: Server, browser: Browser, session: Any, complaints: list[str]) -> Iterator[BrowserContext]:
    """Such a window at another web process, where there is one."""
    with opened(browser, session, server.other_url, complaints) as context:
        yield context


@contextmanager
def opened(browser: Browser, session: Any, url: str, complaints: list[str]) -> Iterator[BrowserContext]:
    context = browser.new_context(storage_state=session, base_url=url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(WATCH)
    context.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    yield context
    for page in context.pages:
        if page.url.startswith(url):
            complaints += page.evaluate("window.violations")
    context.close()
    assert complaints == []


@pytest.fixture
def tab(window: BrowserContext) -> Page:
    """A single tab."""
    return window.new_page()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where a test may leave pictures."""
    return tmp_path

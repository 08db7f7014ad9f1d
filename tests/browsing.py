"""A headless Chromium for the tests of pages, and a report of two small results folders."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
WAIT = 10_000  # milliseconds
OPENED: list[tuple[Page, list[str]]] = []
# Not every machine has a browser; `.ci/run` installs one, so that there every page is opened.
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the machine's own Chromium, without its sandbox, which containers lack."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, path: Path, place: str = "", **settings: object) -> Page:
    """Open a page from disk, once its data is read; `check_scripts` says if a script failed."""
    page = browser.new_context(**settings).new_page()
    page.set_default_timeout(WAIT)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.goto(f"{path.as_uri()}{place}")
    page.wait_for_selector("html[data-ready=yes]")
    OPENED.append((page, faults))
    return page


def serious(page: Page) -> list[tuple[str, str]]:
    """Return what axe calls serious or critical; what axe itself loads is no fault of a page."""
    [faults] = [faults for one, faults in OPENED if one is page]
    before = [*faults]
    every = Axe().run(page).response["violations"]
    faults[:] = before
    grave = (one for one in every if one["impact"] in ("serious", "critical"))
    return [(one["id"], one["nodes"][0]["html"]) for one in grave]


def check_scripts() -> None:
    """Fail where a script of a page that was opened failed, while it opened or later."""
    failed = {page.url: faults for page, faults in OPENED if faults}
    for page, _ in OPENED:
        page.context.close()
    OPENED.clear()
    assert not failed

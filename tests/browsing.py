"""A headless Chromium for the tests of pages, and a report of two small results folders."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the machine's own Chromium, without its sandbox, which containers lack."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, path: Path, place: str = "", **settings: object) -> Page:
    """Open a page from disk, once its data is read; an error of a script fails the test."""
    page = browser.new_context(**settings).new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.goto(f"{path.as_uri()}{place}")
    page.wait_for_selector("html[data-ready=yes]")
    assert not faults, faults
    page.faults = faults
    return page

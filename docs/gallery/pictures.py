"""Take the pictures of docs/gallery from a finished report: `make gallery`.

Usage: `python docs/gallery/pictures.py results/mini/report`. Needs the packages of the tests and a
Chromium (`chromium`, or CHROMIUM=path).
"""

import os
import shutil
import sys
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent
COLOURS = 256


class View(NamedTuple):
    """A picture: its name, the page, what comes into view, the window and the colours."""

    name: str
    page: str
    shown: str = ""
    width: int = 1280
    height: int = 800
    scheme: str = "light"


VIEWS = [
    View("ledger", "index.html"),
    View("rows", "index.html#paper=clear&verdict=reversed", "#rows"),
    View("table", "mini/clear-table1.html", height=640),
    View("number", "mini/clear-table1.html#clear/dev-rr", "dialog #picture"),
    View("depths", "mini/clear-figure1.html", height=700),
    View("effort", "mini/mebert-figure7.html", height=700, scheme="dark"),
    View("circles", "mini/roc-figure1.html", height=560),
    View("claims", "mini/clear-claims.html"),
    View("provenance", "mini/provenance.html#a12"),
    View("costs", "mini/costs.html"),
    View("narrow", "index.html", width=400, scheme="dark"),
]


def take(browser: Browser, report: Path, view: View) -> None:
    """Take one picture, with as many colours as a page of text and lines needs."""
    size = {"width": view.width, "height": view.height}
    context = browser.new_context(viewport=size, color_scheme=view.scheme)
    page = context.new_page()
    path, _, place = view.page.partition("#")
    page.goto((report / path).resolve().as_uri() + (f"#{place}" if place else ""))
    page.wait_for_selector("html[data-ready=yes]")
    if view.shown:
        page.locator(view.shown).first.evaluate("e => e.scrollIntoView({block: 'start'})")
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS).save(FOLDER / f"{view.name}.png", optimize=True)
    context.close()


def main(report: Path) -> None:
    """Take all pictures."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not program or not (report / "index.html").is_file():
        lacks = "no chromium on this machine" if not program else "no index.html in it"
        raise SystemExit(f"{report}: {lacks}; give the folder of a report, and CHROMIUM")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for view in VIEWS:
            take(browser, report, view)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

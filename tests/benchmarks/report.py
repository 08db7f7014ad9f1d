"""Time, size and first paint of the report of a results folder.

Usage: `PYTHONPATH=workflow:tests python tests/benchmarks/report.py results/mini`. Needs Chromium
for the paint, which is that of the browser's own clock, from disk, without a cache.
"""

import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from browsing import chromium
from residuum.site import writing

PAINT = """() => new Promise((done) => new PerformanceObserver((list) => {
    const [first] = list.getEntriesByName("first-contentful-paint");
    if (first) done(first.startTime);
}).observe({type: "paint", buffered: true}))"""
READY = "html[data-ready=yes]"
VISITS = 5


def main(results: Path) -> None:
    """Write the report and open each of its pages."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        site = writing.write([results], Path(folder) / "report").parent
        seconds = time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sizes = Counter[str]()
        for path in (p for p in site.rglob("*") if p.is_file()):
            sizes[path.suffix] += path.stat().st_size
        print(f"{seconds:.1f} CPU s, {memory:.0f} MB of memory")
        kinds = ", ".join(f"{kind[1:]} {size / 1e6:.2f}" for kind, size in sizes.most_common())
        print(f"{sum(sizes.values()) / 1e6:.2f} MB: {kinds}")
        paints = _paints(site)
        print(f"first contentful paint of {len(paints)} pages, median of {VISITS} visits each:")
        for path, shown in sorted(paints.items(), key=lambda each: -each[1])[:3]:
            print(f"  {shown:4.0f} ms {path.relative_to(site)}")
        print(f"  {statistics.median(paints.values()):4.0f} ms the median page")


def _paints(site: Path) -> dict[Path, float]:
    paints = {}
    with chromium() as browser:
        for path in sorted(site.rglob("*.html")):
            visits = []
            for _ in range(VISITS):
                page = browser.new_context().new_page()
                page.goto(path.as_uri())
                page.wait_for_selector(READY)
                visits.append(page.evaluate(PAINT))
                page.context.close()
            paints[path] = statistics.median(visits)
    return paints


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Texts that would be markup, script, commands or endless, and results that are full of them."""

from pathlib import Path

from bounds_fixture import bounds_of
from residuum import ledger, significance
from residuum.artefacts import manifest, trec
from residuum.pages.table import make as tables
from results_fixture import QUERIES, build
from tables_fixture import TABLE, job, spec

SCRIPT = "</script><script>window.harmed = 1</script>"
IMAGE = '<img src=x onerror="window.harmed = 1">'
LINK = "[here](javascript:window.harmed=1)"
TEX = r"\input{/etc/passwd} $x_ & 100% #1 ~^"
TURNED = "abc \u202efed\u2066 \x07bell"
HOSTILE = [SCRIPT, IMAGE, LINK, TEX, TURNED, "| a | b |", "`" * 3, "x" * 100_000]


def build_hostile(results: Path) -> Path:
    """Make a small folder whose labels, titles, notes and queries are hostile; return it."""
    build(results)
    split = results / "data" / "data" / "dev"
    texts = [text.replace("\n", " ") for text in HOSTILE]
    trec.write_queries(
        split / "queries.tsv", [(q, texts[n % len(texts)]) for n, q in enumerate(QUERIES)]
    )
    own = [split / "queries.tsv", split / "qrels.trec"]
    manifest.write(own[0], {"queries": 12, "qrels": 12}, {}, [], "residuum.data", own)
    rows = [dict(row) for row in TABLE["rows"]]
    for row, text in zip(rows, (SCRIPT, IMAGE, LINK, TURNED), strict=True):
        row["label"] = f"{text} {TEX}"
    rows[0]["group"], rows[3]["not_run"] = HOSTILE[-1], f"{SCRIPT} {TURNED} {LINK}"
    changes = {"rows": rows, "title": f"{IMAGE} {TURNED}", "printed_in": f"{SCRIPT} {LINK}"}
    made = spec(job(**changes, notes=HOSTILE))
    page = results / "tables" / "toy-table1.tsv"
    tests = results / "significance" / "toy-table1.tsv"
    significance.compare(made, results / "metrics", tests, bounds_of(results / "metrics"))
    tables.render(made, results / "metrics", tests, page, [])
    ledger.write([made], [page], results / "ledger.tsv", [tests], [])
    return results

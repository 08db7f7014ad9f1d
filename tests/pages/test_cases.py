"""Case studies on hand-made lists: every condition, ties, excerpts, rules that nothing meets."""

import polars as pl
import pytest

from residuum import rerank
from residuum.artefacts import contracts, manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.config.specs import canonical_json
from residuum.pages.cases import make as cases
from residuum.pages.cases.entry import Cases

QUERIES = {"q1": "brief government definition", "q2": "who is robert gray", "q3": "never judged"}
DOCS = {
    "d1": "Other things come first. Legal definition of brief: a concise statement | of a case.",
    "d2": "Grey started with his alias and is Robert Grey.",
    "d3": "Nothing at all.",
    "d4": "Some *more* text.",
    "d5": "The last one.",
}
QRELS = [("q1", "d1", 2), ("q1", "d3", 0), ("q2", "d2", 1), ("q2", "d5", 1), ("q2", "d4", -1)]
LISTS = {  # docs from rank 1
    "bm25": {"q1": ["d3", "d4", "d1"], "q2": ["d4", "d5"], "q3": ["d1"]},
    "clear": {"q1": ["d1", "d3"], "q2": ["d2", "d5", "d3"], "q3": ["d2"]},
}


def entry(where, relevant=True, **changes):
    return {
        "kind": "cases",
        "title": "Toy cases",
        "notes": ["A choice."],
        "printed_in": "Toy, Table 3",
        "role": "dev",
        "lists": {"bm25": "bm25", "clear": "clear"},
        "relevant": relevant,
        "where": where,
        "before": "bm25",
        "after": "clear",
        **changes,
    }


def runs(lists=LISTS):
    rows = {
        name: [(q, d, r) for q, docs in of.items() for r, d in enumerate(docs, start=1)]
        for name, of in lists.items()
    }
    form = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64}
    return {
        name: pl.DataFrame(result, schema=form, orient="row").with_columns(
            score=-pl.col("rank").cast(pl.Float64)
        )
        for name, result in rows.items()
    }


def qrels():
    return pl.DataFrame(QRELS, schema=["query_id", "doc_id", "relevance"], orient="row")


def matching(where, relevant=True, **changes):
    rule = Cases.model_validate(entry(where, relevant, **changes))
    return cases.matching(rule, runs(), qrels(), {"q1", "q2"})


def pairs(where, relevant=True, **changes):
    result = matching(where, relevant, **changes)
    return list(result.select("query_id", "doc_id", "gain").iter_rows())


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ([{"list": "bm25", "at_least": 2}], [("q1", "d1", 2), ("q2", "d5", 0)]),
        ([{"list": "bm25", "at_most": 2}], [("q2", "d5", 0)]),
        ([{"list": "bm25", "at_least": 3, "at_most": 9}], [("q1", "d1", 2)]),
        ([{"list": "bm25", "absent": True}], [("q2", "d2", 3)]),
        ([{"list": "bm25", "at_least": 3, "or_absent": True}], [("q2", "d2", 3), ("q1", "d1", 2)]),
        ([{"list": "bm25"}], [("q1", "d1", 2), ("q2", "d5", 0)]),
        ([{"list": "bm25"}, {"list": "clear", "at_most": 1}], [("q1", "d1", 2)]),
        ([{"list": "clear", "at_least": 9}], []),
    ],
    ids=["least", "most", "between", "absent", "or-absent", "present", "both", "none"],
)
def test_every_kind_of_condition(where, expected):
    assert pairs(where) == expected


def test_not_relevant_is_judged_0_or_below_or_unjudged():
    result = matching([{"list": "clear"}], relevant=False)
    rows = {(q, d): r for q, d, r in result.select("query_id", "doc_id", "relevance").rows()}
    assert rows == {("q1", "d3"): 0, ("q2", "d3"): None}
    below = pairs([{"list": "bm25", "at_most": 1}], relevant=False)
    assert ("q2", "d4", 1 - 4) in below, "absent after: one rank beyond the longest list"


def test_a_case_is_the_largest_gain_of_its_query_and_ties_go_by_id():
    rule = [{"list": "bm25", "or_absent": True, "at_most": 9}]
    result = matching(rule, limit=1).select("query_id", "doc_id", "gain", "shown").rows()
    assert result == [
        ("q2", "d2", 3, True), ("q1", "d1", 2, False), ("q2", "d5", 0, False)
    ]  # fmt: skip
    turned = pairs([{"list": "clear"}], relevant=False, before="clear", after="clear")
    assert turned == [("q1", "d3", 0), ("q2", "d3", 0)]


def write(folder):
    """Write what the command reads and return its arguments."""
    (folder / "corpus").mkdir(parents=True)
    docs = [(doc_id, {"text": text}) for doc_id, text in DOCS.items()]
    shards = contracts.write_corpus(folder / "corpus", docs)
    manifest.write(
        folder / "corpus", {"docs": 5, "shards": shards}, {}, [], "residuum.pages.cases.make"
    )
    trec.write_queries(folder / "queries.tsv", QUERIES.items())
    trec.write_qrels(folder / "qrels.trec", QRELS)
    for name, run in runs().items():
        trec.write_run(folder / f"{name}.trec.gz", run, name)
    lists = [f"{name}={folder / f'{name}.trec.gz'}" for name in LISTS]
    return folder / "queries.tsv", folder / "qrels.trec", folder / "corpus", lists


def find(folder, where, lists=None, depths=None, **changes):
    queries, qrels_path, corpus, own = write(folder)
    spec = {
        "id": "toy-table3",
        "entry": entry(where, **changes),
        "split": "data/dev",
        "runs": {"bm25": "bm25", "clear": "clear.seed1"},
        "depths": depths or {},
        "scale": "toy",
        "reason": "a toy.",
    }
    output = folder / "toy-table3.tsv"
    cases.find(canonical_json(spec), queries, qrels_path, corpus, lists or own, output)
    return pl.read_csv(output, separator="\t"), output


def test_the_page_shows_what_matched_by_words(tmp_path):
    table, output = find(tmp_path, [{"list": "bm25", "at_least": 3, "or_absent": True}])
    assert table.columns == ["query_id", "query", "doc_id", "relevance", "rank.bm25",
                             "rank.clear", "gain", "shown", "excerpt"]  # fmt: skip
    assert table["rank.bm25"].to_list() == [None, 3]
    page = output.with_suffix(".md").read_text()
    assert "\n- A choice.\n" in page, "a note of the entry"
    assert "who is **robert** gray" in page
    assert "alias and is **Robert** Grey." in page
    assert "Legal **definition** of **brief**: a concise statement \\| of a case." in page
    assert "| not retrieved → 1 " in page and "| 3 → 1 " in page
    assert "rank 3 or later, or not retrieved, by bm25" in page
    assert "2 pairs of 2 queries meet the rule; 2 judged queries examined; 2 shown." in page
    latex = output.with_suffix(".tex").read_text()
    assert r"who is \textbf{robert} gray" in latex and r"3 $\rightarrow$ 1" in latex
    assert (tmp_path / "toy-table3.tsv.manifest.json").is_file()


def test_unjudged_docs_are_said_to_be_so(tmp_path):
    _, output = find(tmp_path, [{"list": "bm25", "absent": True}], relevant=False)
    page = output.with_suffix(".md").read_text()
    assert "| unjudged " in page
    assert "1 of these pairs are unjudged, which does not mean not relevant." in page


def test_a_doc_below_the_tuned_depth_rises_in_a_list_reranked_to_the_largest(tmp_path):
    # The first stage has a b c d e; the reranker's order is e d c b a, and depth 2 was tuned.
    first = [("q1", doc, 9.0 - rank) for rank, doc in enumerate("abcde")]
    scores = [("q1", doc, float(rank)) for rank, doc in enumerate("abcde")]
    for name, rows in (("first", first), ("scores", scores)):
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
        trec.write_run(tmp_path / f"{name}.gz", trec.rank(frame), name)
    lists = {"bm25": {"q1": ["z"]}, "clear": {"q1": [*"abcde"]}}
    rule = {
        "relevant": False,
        "lists": {"bm25": "bm25", "clear": "clear", "reranked": "deepest"},
        "where": [
            {"list": "bm25", "absent": True},
            {"list": "clear", "at_least": 3},
            {"list": "reranked", "at_most": 2},
        ],
        "before": "clear",
        "after": "reranked",
    }
    shown = {}
    for value in (2, "largest"):
        depth = {"value": value, "grid": [2, 5] if value == "largest" else None}
        system = {"kind": "rerank", "first_stage": "f", "reranker": "r", "depth": depth}
        places = tmp_path / "cut.gz", tmp_path / "record.json"
        listed = tmp_path / "first.gz", [tmp_path / "scores.gz"]
        rerank.cut(*listed, "x", canonical_json(system), "t", *places)
        made = {**runs(lists), "reranked": trec.read_run(places[0])}
        pairs = cases.matching(Cases.model_validate(entry(**rule)), made, qrels(), {"q1"})
        shown[value] = pairs.select("doc_id", "rank.clear", "rank.reranked").rows()
    assert shown == {2: [], "largest": [("e", 5, 1), ("d", 4, 2)]}


def test_the_page_says_how_deep_a_list_is_reranked(tmp_path):
    _, output = find(tmp_path, [{"list": "clear"}], depths={"clear": 1000})
    page = output.with_suffix(".md").read_text()
    assert "Lists: bm25: bm25; clear: clear.seed1, reranked to depth 1,000. Split" in page


def test_a_rule_that_nothing_meets_says_so(tmp_path):
    table, output = find(tmp_path, [{"list": "clear", "at_least": 100}])
    assert table.height == 0
    page = output.with_suffix(".md").read_text()
    assert "0 pairs of 0 queries meet the rule; 2 judged queries examined; none shown." in page
    assert r"\begin{tabular}" not in output.with_suffix(".tex").read_text()


def test_equal_input_gives_equal_bytes(tmp_path):
    rule = [{"list": "clear"}]
    one, two = find(tmp_path / "1", rule)[1], find(tmp_path / "2", rule)[1]
    for suffix in (".tsv", ".md", ".tex"):
        assert one.with_suffix(suffix).read_bytes() == two.with_suffix(suffix).read_bytes()


def test_excerpts_are_cut_around_the_best_sentence():
    filler = "word " * 40
    text = f"{filler.strip()}. The gray cat sat. {filler.strip()}. Robert Gray sat. {filler}"
    shown = cases.excerpt("who is robert gray", text)
    assert shown.startswith("... Robert Gray sat. word") and shown.endswith("word ...")
    assert len(shown.split()) == cases.WORDS + 2
    assert cases.excerpt("robert gray", "One. Robert Gray.") == "One. Robert Gray."
    late = cases.excerpt("robert gray", f"{filler} robert {filler} robert gray")
    assert late.endswith("robert gray"), "inside a long sentence the window slides"
    assert cases.excerpt("any", "") == ""


def test_lists_must_be_those_of_the_case_study(tmp_path):
    with pytest.raises(ResiduumError, match=r"no name 'bm52'.*Did you mean bm25"):
        find(tmp_path / "a", [{"list": "bm25"}], ["bm52=x"])
    with pytest.raises(ResiduumError, match="--list clear=PATH is missing"):
        find(tmp_path / "b", [{"list": "bm25"}], ["bm25=x"])


def test_a_doc_that_the_corpus_lacks_is_an_error(tmp_path):
    _, _, corpus, _ = write(tmp_path)
    with pytest.raises(ResiduumError, match=r"lacks the doc d9 \(1 such docs\)"):
        cases._docs(corpus, {"d1", "d9"})

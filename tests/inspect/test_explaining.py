"""A cell told from its manifests, and the first place where two results folders differ."""

import json
import re
import shutil

import polars as pl
import pytest
from typer.testing import CliRunner

from bounds_fixture import bounds_of
from residuum import ledger, significance
from residuum.__main__ import app
from residuum.artefacts import files, trec
from residuum.cli.errors import ResiduumError
from residuum.inspect import differing, explaining
from residuum.pages.table import make as tables
from results_fixture import QUERIES, build, change, edit, make_pages, record, seal, write_run
from tables_fixture import job, spec, write_verdict

CELL = "toy/table1/base/rr"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return build(tmp_path_factory.mktemp("there") / "results" / "toy", k1=1.2)


def test_a_cell_says_what_was_measured_reported_and_judged(results):
    message = explaining.explain(results, "toy/table1/ours/rr")
    assert "Toy, Table 1: Ours, MRR@10" in message
    assert "measured   0.75 (RR@10 on data/dev, 12 queries; per seed 1 0.5)" in message
    assert "reported   0.400 ^1,3" in message
    assert "verdict    differs: |delta| is more than 0.01" in message
    # Means of the seeds above base: 2/3 and 1/6, so t is 0.4167 / 0.25 on one degree: p 0.344.
    assert "  ours significantly above base: these models only" in message
    assert "  ours significantly above later: not run (later: not built yet)" in message


def test_tests_are_seen_from_the_row_that_was_asked_for(results):
    lines = {
        row: [part.strip() for part in line.split("|")]
        for row in ("base", "ours")
        for line in explaining.explain(results, f"toy/table1/{row}/rr").splitlines()
        if line.startswith(f"| {'ours' if row == 'base' else 'base'} ")
    }
    assert lines["base"][2] == "-0.4167" and lines["ours"][2] == "+0.4167"
    assert lines["base"][7:9] == lines["ours"][7:9] == ["0.344", "2/2"]
    assert lines["base"][9] == "0/0/12" and lines["ours"][9] == "12/0/0"
    assert lines["base"][6] == lines["ours"][6] == "significant"


def test_queries_at_both_ends_are_those_of_the_metrics_file(results, other):
    message = explaining.explain(other, CELL)
    values = trec.read_metrics(other / "metrics/data/dev/base.tsv")["value"]
    assert values.to_list() == pytest.approx([1 / (1 + i % 3) for i in range(12)])
    assert "Per query (metrics/data/dev/base.tsv)" in message
    assert "best       q00 1, q03 1, q06 1" in message
    assert "worst      q02 0.3333, q05 0.3333, q08 0.3333" in message
    assert "metrics/data/dev/ours.seed{1,2}.tsv, means over seeds" in explaining.explain(
        results, "toy/table1/ours/rr"
    )


def test_the_provenance_goes_down_to_corpus_topics_and_qrels(results):
    message = explaining.explain(results, CELL)
    heads = [line for line in message.splitlines() if line.startswith("[")]
    assert heads == [
        "[1] metrics/data/dev/base.tsv",
        "[2] runs/data/dev/base.trec.gz",
        "[3] data/data/dev",
        "[4] index/data/en",
        "[5] data/data/corpus",
    ]
    assert "spec       kind lexical; bm25.k1 0.9; bm25.b 0.4; k 10" in message
    assert "facts      docs 20; unique_terms 40" in message
    assert "from       [2] [3]" in message


def test_seeds_of_one_artefact_stand_together(results):
    message = explaining.explain(results, "toy/table1/ours/rr")
    assert "] runs/data/dev/ours.seed{1,2}.trec.gz" in message
    assert "facts      seed1: queries 12; means.RR@10 1" in message
    assert "facts      seed2: queries 12; means.RR@10 0.5" in message


def test_shards_of_one_artefact_stand_together(tmp_path):
    results = build(tmp_path / "results" / "toy")
    corpus = results / "data" / "data" / "corpus" / "manifest.json"
    for seed in (1, 2):
        folder = results / "hits" / "data" / "model" / f"seed{seed}"
        hits = [folder / f"shard-0000{number}" / "manifest.json" for number in range(7)]
        for number, path in enumerate(hits):
            facts = {"shard": {"number": number, "of": 7}, "hits": {"dev": 5 * seed}}
            record(path, facts, [corpus], "residuum.fusion")
        run = results / "runs" / "data" / "dev" / f"ours.seed{seed}.trec.gz.manifest.json"
        edit(run, inputs={str(path): "0" * 64 for path in hits})
    message = explaining.explain(results, "toy/table1/ours/rr")
    assert "] hits/data/model/seed{1,2}/shard-{00000..00006}" in message
    assert "facts      seed1/shard-{00000..00006}: hits.dev 5" in message
    assert "facts      seed2/shard-{00000..00006}: hits.dev 10" in message
    assert message.count("hits/data/model") == 1 and "] data/data/corpus" in message


def test_commands_are_shown_short_unless_asked_for_in_full(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    spec = f"'{{{'x' * 80}}}'"
    path = copy / "runs/data/dev/base.trec.gz.manifest.json"
    change(path, '"command": null', f'"command": "python -m residuum.lexical --spec {spec} -k 1"')
    assert "residuum.lexical --spec '{...}' -k 1" in explaining.explain(copy, CELL)
    assert spec in explaining.explain(copy, CELL, full=True).replace("\n               ", "")


def test_a_cell_without_a_run_says_why_and_has_no_provenance(results):
    message = explaining.explain(results, "toy/table1/later/rr")
    assert "measured   not run: not built yet" in message
    assert "Provenance" not in message


def test_a_count_was_made_from_its_split(results):
    message = explaining.explain(results, "toy/table2/queries/dev")
    assert "measured   12 (queries on data/dev, 12 queries)" in message
    assert "[1] data/data/dev" in message


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("tay/table1/base/rr", "no paper 'tay'; known: toy. Did you mean toy?"),
        ("toy/tabel1/base/rr", "no page of toy 'tabel1'; known: table1, table2. Did you mean"),
        ("toy/table1/bsae/rr", "no row of toy/table1 'bsae'; known: ablation, base, later, ours. "
                               "Did you mean base?"),
        ("toy/table1/base/rrr", "no column of toy/table1/base 'rrr'; known: far, rr. Did you "
                                "mean rr?"),
        ("toy-table1", "write <paper>/<page>/<row>/<column>, of a figure over groups "
                       "<paper>/<page>/<series>/<panel>/<group>, such as toy/table1/base/rr"),
        ("toy/claims/better", "such as toy/table1/base/rr. Cases, claims, lines, and figures over "
                              "anything but groups have no such numbers; read "),
    ],
)  # fmt: skip
def test_an_unknown_cell_is_one_error_with_what_is_known(results, cell, says):
    with pytest.raises(ResiduumError, match=r"^[^\n]*$") as error:
        explaining.explain(results, cell)
    assert says in str(error.value)
    assert ("claims" in cell) == str(error.value).endswith("claims/toy-claims.md")


def test_a_cell_of_a_model_that_did_not_learn_leads_to_its_verdict(tmp_path):
    results = build(tmp_path / "results" / "toy", pages=False)
    made = job().model_copy(update={"models": {"data": {"ours.seed1": ["dual/seed1"]}}})
    path = write_verdict(results / "learning" / "dual" / "seed1.json")
    record(path, {"learned": False}, [], "residuum.learning")
    metrics, page = results / "metrics", results / "tables" / "toy-table1.tsv"
    tests = results / "significance" / page.name
    significance.compare(spec(made), metrics, tests, bounds_of(metrics), learning=[path])
    tables.render(spec(made), metrics, tests, page, [], learning=[path])
    ledger.write([spec(made)], [page], results / "ledger.tsv", [tests])
    message = explaining.explain(results, "toy/table1/ours/rr")
    assert "measured   not learned: dual seed1: no better" in message
    assert "verdict    not learned: dual seed1: no better" in message
    assert "Tests it took part in" not in message and "Per query" not in message
    assert re.search(r"\] learning/dual/seed1\.json$", message, re.M)
    assert "] metrics/data/dev/ours.seed{1,2}.tsv" in message
    assert "dual" not in explaining.explain(results, CELL)
    change(path, "no better", "worse")
    block = explaining.explain(results, "toy/table1/ours/rr")
    named = f"snakemake --cores all --config scale={results.name} -- {results}/FILE ... all"
    assert f"Changed since it was made (delete it, then: {named})" in block


def test_a_folder_without_tables_is_one_error(tmp_path):
    with pytest.raises(ResiduumError, match="no tables; name a results folder"):
        explaining.explain(tmp_path, CELL)


def test_the_first_difference_of_two_folders_names_k1_with_both_values(results, other):
    message = differing.compared(results, other, CELL)
    first = next(line for line in message.splitlines() if line.startswith("  first"))
    assert first.endswith("runs/data/dev/base.trec.gz: parameter bm25.k1: 0.9 against 1.2")
    assert "cell       0.333333 against 0.611111 (+0.2778)" in message
    assert "other docs or another order in 8 of 12 queries; in 0 of" in " ".join(message.split())
    assert "8 of 12 have another value; most: q00 0.3333 -> 1" in " ".join(message.split())


def test_what_k1_decides_further_off_is_traced_to_it_too(results, other):
    message = differing.compared(results, other, "toy/table1/ablation/rr")
    assert "parameter bm25.k1: 0.9 against 1.2" in message
    assert "queries    0 of 12 have another value" in message


def test_equal_folders_differ_in_nothing(results):
    message = differing.compared(results, results, CELL)
    assert (
        "first      nothing differs in the manifests: same sources, parameters, code and" in message
    )


def test_index_statistics_that_no_parameter_explains_are_named(results, tmp_path):
    other = build(tmp_path / "toy", terms=41)
    message = " ".join(differing.compared(results, other, CELL).split())
    assert (
        "first index statistics of index/data/en: unique_terms: 40 against 41, with equal "
        "parameters and sources: same code, same versions;"
    ) in message


def test_another_collection_is_said_before_all_else(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    page = copy / "tables/toy-table1.tsv"
    page.write_text(page.read_text().replace("data/dev", "other/dev"))
    seal(page)
    message = " ".join(differing.compared(results, copy, CELL).split())
    assert "first another collection: measured on data/dev against other/dev" in message


def test_a_table_of_another_version_is_named(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    path = copy / "tables/toy-table1.tsv.manifest.json"
    path.write_text(path.read_text().replace('"printed_in"', '"place"'))
    with pytest.raises(
        ResiduumError, match=r"table1\.tsv\.manifest\.json: made by another version"
    ):
        differing.compared(results, copy, CELL)


def test_code_alone_is_a_difference_without_effect(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    path = copy / "index/data/en/manifest.json"
    change(path, '"python": "', '"python": "9')
    message = " ".join(differing.compared(results, copy, CELL).split())
    assert "first everything made is equal; python 3." in message
    assert "differ without effect" in message


def test_docs_of_equal_score_that_changed_places_are_called_ties(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    for folder, docs in ((tmp_path / "a", ["d1", "d2"]), (tmp_path / "b", ["d2", "d1"])):
        rows = [(q, d, r, 1.0) for q in QUERIES for r, d in enumerate(docs, start=1)]
        columns = ["query_id", "doc_id", "rank", "score"]
        run = pl.DataFrame(rows, schema=columns, orient="row")
        target = results if folder.name == "a" else copy
        kept = shutil.copytree(target, folder)
        trec.write_run(kept / "runs/data/dev/base.trec.gz", run, "base")
        seal(kept / "runs/data/dev/base.trec.gz")
    message = " ".join(differing.compared(tmp_path / "a", tmp_path / "b", CELL).split())
    assert "in 12 of 12 queries; in 12 of them docs of equal score changed places" in message


def test_a_run_that_one_folder_lacks_is_said_to_be_missing(results, other, tmp_path):
    copy = shutil.copytree(other, tmp_path / "toy")
    (copy / "runs/data/dev/base.trec.gz").unlink()
    message = " ".join(differing.compared(results, copy, CELL).split())
    assert "base.trec.gz: cannot be compared: " in message
    assert f"{copy}/runs/data/dev/base.trec.gz: no such file" in message


def test_the_command_prints_both_and_an_error_is_one_line(results, other):
    run = CliRunner().invoke
    assert "Provenance" in run(app, ["explain", CELL, "--results", str(results)]).output
    both = [CELL, "--results", str(results), "--against", str(other)]
    assert "bm25.k1" in run(app, ["explain", *both]).output


def test_pages_may_be_made_again_over_other_runs(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    write_run(copy / "runs/data/dev/base.trec.gz", [1] * len(QUERIES))
    make_pages(copy)
    assert "measured   0.333333" in explaining.explain(copy, CELL), "metrics were not made again"


def lacking(results, tmp_path, *names):
    copy = shutil.copytree(results, tmp_path / "toy")
    for name in names:
        (copy / name).unlink()
    return copy


RUN = "runs/data/dev/base.trec.gz.manifest.json"
BASE = "metrics/data/dev/base.tsv.manifest.json"
SEED2 = [
    f"{kind}/data/dev/ours.seed2.{form}{end}"
    for kind, form in (("metrics", "tsv"), ("runs", "trec.gz"))
    for end in ("", ".manifest.json")
]


def test_a_manifest_that_one_folder_lacks_is_the_difference(results, tmp_path):
    copy = lacking(results, tmp_path, BASE)
    available = " ".join(differing.compared(results, copy, CELL).split())
    assert "first metrics/data/dev/base.tsv: a manifest against no manifest" in available
    assert "made against not made" not in available
    assert "queries 0 of 12 have another value" in available and "for all 12 queries" in available
    local = " ".join(differing.compared(copy, results, CELL).split())
    assert "first metrics/data/dev/base.tsv: no manifest against a manifest" in local


def test_a_parameter_is_found_past_a_missing_manifest(results, other, tmp_path):
    copy = lacking(other, tmp_path, BASE)
    message = " ".join(differing.compared(results, copy, CELL).split())
    assert "first runs/data/dev/base.trec.gz: parameter bm25.k1: 0.9 against 1.2" in message
    assert "then metrics/data/dev/base.tsv: a manifest against no manifest" in message


def test_a_manifest_that_both_folders_lack_is_said_to_be_missing(results, other, tmp_path):
    copies = [lacking(folder, tmp_path / folder.parts[-3], RUN) for folder in (results, other)]
    message = " ".join(differing.compared(*copies, CELL).split())
    assert "first runs/data/dev/base.trec.gz: sha256 of" in message
    assert re.search(r"[0-9a-f]{12} against [0-9a-f]{12} \(its manifest is missing\)", message)


def test_a_seed_that_one_folder_lacks_is_named_and_the_rest_is_compared(results, tmp_path):
    copy = lacking(results, tmp_path, *SEED2)
    message = " ".join(differing.compared(results, copy, "toy/table1/ours/rr").split())
    assert "ours.seed2.trec.gz: a manifest against neither file nor manifest" in message
    assert "ours.seed2.tsv: a manifest against neither file nor manifest" in message
    assert "queries cannot be compared: " in message and "ours.seed2.tsv: no such file" in message


def test_a_provenance_says_which_manifest_is_missing_and_keeps_the_other_seed(results, tmp_path):
    copy = lacking(results, tmp_path, SEED2[1])
    message = explaining.explain(copy, "toy/table1/ours/rr")
    assert "outside" not in message
    after = message.split("] metrics/data/dev/ours.seed2.tsv\n")[1]
    assert after.startswith("    its manifest is missing, so what it was made from is not known")
    assert (
        "facts      queries 12; means.RR@10 1" in message.split("] metrics/data/dev/ours.seed1")[1]
    )
    gone = lacking(results, tmp_path / "gone", "runs/data/dev/base.trec.gz", RUN)
    assert "its manifest is missing and so is the file" in explaining.explain(gone, CELL)


def test_what_is_run_in_neither_folder_has_both_reasons_and_no_provenance(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    message = differing.compared(results, copy, "toy/table1/later/rr")
    assert message.splitlines()[1:] == ["", "  cell       not run in either: not built yet"]
    path = copy / "tables/toy-table1.tsv"
    path.write_text(path.read_text().replace("not built yet", "lost"))
    seal(path)
    message = " ".join(differing.compared(results, copy, "toy/table1/later/rr").split())
    assert message.endswith(f"cell not run in {results}: not built yet; not run in {copy}: lost")


def test_what_is_run_in_one_folder_has_the_reason_of_the_other(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    path = copy / "tables/toy-table1.tsv"
    lines = path.read_text().splitlines()
    cells = dict(zip(lines[0].split("\t"), lines[1].split("\t"), strict=True))
    assert (cells["row"], cells["column"]) == ("base", "rr")
    cells |= {"measured": "", "not_run": "lost"}
    path.write_text("\n".join([lines[0], "\t".join(cells.values()), *lines[2:], ""]))
    seal(path)
    for folders in ((results, copy), (copy, results)):
        message = " ".join(differing.compared(*folders, CELL).split())
        assert message.endswith(f"cell not run in {copy}: lost")


def test_a_count_has_no_queries_to_compare(results):
    message = differing.compared(results, results, "toy/table2/queries/dev")
    assert message.endswith("  cell       12 against 12 (+0)")


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        (0, "it is empty; make it again: delete it, then snakemake --cores all"),
        (1, "a header and no row, where a page has some; make it again: delete it, then"),
        (-1, "its last line is cut short; make it again: delete it, then snakemake"),
    ],
)
@pytest.mark.parametrize("cell", [CELL, "toy-table1"])
def test_a_table_that_is_cut_short_is_one_error(results, tmp_path, keep, says, cell):
    copy = shutil.copytree(results, tmp_path / "toy")
    path = copy / "tables/toy-table1.tsv"
    text = path.read_text()
    path.write_text(text[:-1] if keep < 0 else "".join(text.splitlines(True)[:keep]))
    seal(path)
    with pytest.raises(ResiduumError, match=r"^[^\n]*$") as error:
        explaining.explain(copy, cell)
    assert str(error.value).startswith(f"{path}: {says}")


@pytest.mark.parametrize("name", ["ledger.tsv", "significance/toy-table1.tsv"])
def test_an_empty_page_beside_the_table_is_one_error(results, tmp_path, name):
    copy = shutil.copytree(results, tmp_path / "toy")
    (copy / name).write_text("")
    seal(copy / name)
    with pytest.raises(ResiduumError, match=rf"{name}: it is empty; make it again"):
        explaining.explain(copy, CELL)


def test_a_table_without_its_manifest_is_one_error(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    path = copy / "tables/toy-table1.tsv.manifest.json"
    path.write_text("{}")
    with pytest.raises(ResiduumError, match=r"not a manifest of residuum: .*; delete it, then"):
        explaining.explain(copy, CELL)
    path.unlink()
    with pytest.raises(
        ResiduumError, match=r"table1\.tsv: no manifest, so what .* not known; run snake"
    ):
        explaining.explain(copy, CELL)


@pytest.mark.parametrize("name", ["figure1", "table3"])
def test_figures_over_depths_and_case_studies_are_said_to_have_no_cells(results, name):
    says = rf"no page of toy '{name}'; known: table1, .* over anything but groups"
    says += " have no such numbers"
    says += rf"; read .*figures/toy-{name}\.md$" * (name == "figure1")
    with pytest.raises(ResiduumError, match=says):
        explaining.explain(results, f"toy/{name}/base/rr")


def test_claims_with_long_reasons_are_wrapped(results, tmp_path):
    copy = shutil.copytree(results, tmp_path / "toy")
    ledger = copy / "ledger.tsv"
    ledger.write_text(ledger.read_text().replace("later: not built yet", "later: " + "why " * 40))
    seal(ledger)
    message = explaining.explain(copy, "toy/table1/ours/rr")
    block = message.split("What the paper's markers claim (ledger.tsv)\n")[1].split("\n\n")[0]
    assert max(map(len, block.splitlines())) <= 100
    assert "\n    why why" in block


def test_a_model_of_another_processor_is_said_to_be_trained_there(results, tmp_path):
    copies = []
    for folder, cpu, weights in (("a", "one", "x"), ("b", "two", "y")):
        copy = shutil.copytree(results, tmp_path / folder / "toy")
        model = copy / "models" / "clear" / "seed1"
        files.write_text(model / "model.safetensors", weights)
        record(model, {"steps": 5}, [], "residuum.train", kind="dual-encoder")
        place = model / "manifest.json"
        environment = json.loads(place.read_text())["environment"]
        kind = {"model": cpu, "instructions": "avx2", "settings": {"MKL_CBWR": "AVX2"}}
        edit(place, environment={**environment, "cpu": kind})
        run = copy / "runs/data/dev/base.trec.gz.manifest.json"
        recorded = json.loads(run.read_text())
        start = recorded["environment"]["path"].removesuffix("runs/data/dev/" + run.name)
        edit(
            run, inputs={**recorded["inputs"], f"{start}models/clear/seed1": files.sha256_of(model)}
        )
        copies.append(copy)
    message = " ".join(differing.compared(*copies, CELL).split())
    assert "first models/clear/seed1: sha256 of models/clear/seed1/model.safetensors: " in message
    assert (
        "with equal parameters and sources: trained on another kind of CPU: "
        "one (avx2) MKL_CBWR=AVX2 against two (avx2) MKL_CBWR=AVX2"
    ) in message

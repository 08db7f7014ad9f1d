"""The configuration: what a scale makes of it, and how its faults are worded."""

import json
import re
import shutil
from functools import partial
from types import SimpleNamespace

import pytest
import yaml

from conftest import ROOT
from entry_files import unlined
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading, specs
from residuum.config.registry import SplitId
from residuum.config.schema.scales import FromHub, FromModel, FromPath
from residuum.neural.losses import ConstantMargin
from residuum.pages.entries import parts_of
from residuum.pages.inputs import bound, page_spec
from residuum.pages.table.bind import bind_table, family
from residuum.pages.table.job import metrics_files
from residuum.wiring import availability, corpora, models, sizes
from residuum.wiring.estimates import Estimates
from residuum.wiring.pages import why_not_made
from residuum.wiring.paths import Paths

BASE = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


def load(folder=ROOT / "config", **config):
    return loading.load(folder, {**BASE, **config})


OWN = {  # RoC: what coCondenser was pretrained on, by what a model is trained on
    "msmarco-passage": "Luyu/co-condenser-marco",
    "nq-250k": "Luyu/co-condenser-wiki",
    "nq-dpr": "Luyu/co-condenser-wiki",
    "robust04": "Luyu/co-condenser-marco",
}


@pytest.mark.parametrize("adapted", [False, True])
def test_terms_of_a_role_have_the_wordpieces_of_its_models_whatever_plays_it(tmp_path, adapted):
    """BioASQ 5.3: the tokenizer of BM25 is "the same one as used by the DE model"."""
    shutil.copytree(ROOT / "config", folder := tmp_path / "config")
    path = folder / "scales" / "full.yaml"
    scale = yaml.safe_load(path.read_text())
    if adapted:
        scale["backbones"]["pubmed-bert"] = {"model": "pubmed-bert"}
        path.write_text(yaml.safe_dump(scale))
    registry = load(folder, scale="full", papers=["bioasq"])
    bound = registry.tokenizer("pubmed-bert", "bioasq")
    if adapted:
        assert bound == FromModel(model="pubmed-backbone")
    else:
        assert isinstance(bound, FromHub) and bound.hub.endswith("BiomedBERT-base-uncased-abstract")
    parts = corpora.Corpora(registry, Paths("r"), availability.all_available)
    index = SimpleNamespace(dataset="bioasq", index="pubmed-bert-2grams")
    start = models.start_of(registry, "bioasq-de")
    assert (start == FromModel(model="pubmed-bert")) == adapted
    made = ["r/backbones/pubmed-backbone/manifest.json"] if adapted else []
    assert parts.vocabulary(index) == made


def edit(folder, name, **changes):
    path = folder / name
    before = yaml.safe_load(path.read_text()) if path.exists() else {}
    path.write_text(yaml.safe_dump({**before, **changes}))


@pytest.mark.parametrize("scale", sorted(p.stem for p in (ROOT / "config/scales").glob("*.yaml")))
def test_every_scale_loads(scale):
    assert load(scale=scale).config.scale == scale


def test_what_checks_a_schema_is_built_once_for_all_files_of_its_kind(monkeypatch):
    built = []
    adapter = entries.TypeAdapter
    monkeypatch.setattr(entries, "TypeAdapter", lambda form: built.append(form) or adapter(form))
    entries._adapter.cache_clear()
    monkeypatch.setattr(entries, "_loaded", {})
    load(scale="smoke")
    assert len(built) == len(loading.FORMS) + 2, "config.yaml's own, as a file and as chosen"


def test_full_scale_keeps_the_papers_hyper_parameters():
    clear = load(scale="full").models["clear"]
    assert clear.training.model_dump(include={"learning_rate", "batch_size", "epochs"}) == {
        "learning_rate": 2e-5,
        "batch_size": 28,
        "epochs": 8,
    }
    loss = {"kind": "residual_margin", "weight": 1.0, "xi": 1.0, "lambda_train": 0.1}
    assert [one.model_dump() for one in clear.objectives] == [loss]
    assert clear.negatives.pools["errors"].top == 1000


def test_a_scale_lays_its_budget_over_the_model():
    loaded = load(scale="mini")
    clear, budget = loaded.models["clear"], loaded.scale.budgets["triplet"]["training"]
    assert {"steps", "batch_size"} <= {*budget} and "epochs" not in budget
    assert clear.training.model_dump(include={*budget}) == budget
    assert clear.training.epochs is None, "steps take the place of the model's epochs"
    assert clear.negatives.pools["errors"].model_dump() == {
        "kind": "hits", "system": "bm25", "top": 100, "seed": 1
    }  # fmt: skip
    assert clear.loss.xi == 1.0


def test_runs_carry_seeds_only_behind_a_trained_model():
    loaded = load(scale="mini", seeds=[4, 7])
    assert loaded.runs("bm25") == ["bm25"]
    assert loaded.runs("clear") == ["clear.seed4", "clear.seed7"]


def test_encoder_replaces_hub_backbones_only(tmp_path):
    assert load(scale="full", encoder=str(tmp_path)).backbone("bert-base-uncased", None) == (
        FromPath(path=str(tmp_path))
    )
    with pytest.raises(
        ResiduumError, match=r"would replace nothing: scale mini makes its backbones"
    ):
        load(scale="mini", encoder=str(tmp_path))


def test_a_backbone_may_be_another_for_the_models_of_a_dataset(config, tmp_path, monkeypatch):
    full = load(scale="full")
    for name in ("cocondenser", "cocondenser-ei", "clear-cocondenser"):
        starts = {of: models.start_of(full, full.model_for(name, of)).hub for of in OWN}
        assert starts == OWN, name
    assert models.start_of(full, "cocondenser").hub == "Luyu/co-condenser-marco", "of no dataset"
    edit(config, "scales/full.yaml", backbones={**full_backbones(), "cocondenser": BY_DATASET})
    one = load(config, scale="full", encoder="org/other").backbone("cocondenser", "nq-250k")
    assert one == FromHub(hub="org/other", revision="main"), "encoder= replaces each of them"
    looked_up = []
    dev = SplitId("nq-250k", "dev")
    marked = tmp_path / "data/nq/nq-test_gold_info.json"  # without it the collection is not made
    marked.parent.mkdir(parents=True)
    marked.touch()
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / "data"))
    availability.why_unavailable(
        load(config, scale="full"),
        "cocondenser-embedding",
        dev,
        lambda model: looked_up.append(model.hub),
    )
    assert looked_up == ["org/wiki"]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_file_that_a_user_gets_may_be_gzipped(tmp_path, ending):
    """DPR publishes the marked paragraphs of NQ gzipped."""
    sample = load(scale="full").datasets["nq-250k"]
    path = tmp_path / "nq" / "nq-test_gold_info.json"
    assert sample.missing(None, tmp_path, tmp_path / "irds") == [path]
    path.parent.mkdir()
    path.with_name(f"{path.name}{ending}").touch()
    assert sample.missing(None, tmp_path, tmp_path / "irds") == []


def test_the_faults_of_a_start_are_those_of_its_form_alone(config):
    backbones = {**full_backbones(), "cocondenser": {"hub": "org/wide"}}
    edit(config, "scales/full.yaml", backbones=backbones)
    with pytest.raises(ResiduumError) as caught:
        load(config, scale="full")
    own = [line for line in unlined(caught.value).splitlines() if "backbones" in line]
    assert [line.partition("yaml: ")[2] for line in own] == [
        "backbones.cocondenser.revision: missing key"
    ]


def full_backbones():
    return yaml.safe_load((ROOT / "config" / "scales" / "full.yaml").read_text())["backbones"]


def test_a_backbone_of_a_dataset_that_starts_from_its_own_model_is_a_circle(config):
    circle = {"datasets": {"nfcorpus": {"model": "cocondenser"}}, "otherwise": HUB}
    edit(config, "scales/full.yaml", backbones={**full_backbones(), "cocondenser": circle})
    with pytest.raises(
        ResiduumError, match="would be made from itself: cocondenser -> cocondenser"
    ):
        load(config, scale="full")


def test_measures_are_those_of_the_split_and_of_the_tables():
    loaded = load(scale="mini")
    measures = loaded.measures(SplitId("generated-mini", "dev"))
    assert measures == ["AP@1000", "R@100", "R@1000", "RR@10", "Success@100"]
    judged = loaded.measures(SplitId("generated-mini", "judged"))
    assert {"nDCG@10", "AP(rel=2)@1000", "R(rel=2)@1000"} <= set(judged)


def test_splits_that_are_searched_are_measured_or_tuned_on_never_trained_on():
    loaded = load(scale="mini")
    measured = ["tune", "dev", "judged", "topics", "dev-adverse"]
    assert corpora.searched(loaded, "generated-mini") == measured
    asked = corpora.searched(loaded, "generated-questions-mini")
    assert asked == ["questions", "questions-tune"]
    assert corpora.searched(loaded, "nfcorpus") == ["tune", "dev", "test"], "its own tune: RoC's"
    result = corpora.searched(load(scale="full"), "msmarco-passage")
    assert result == ["tune", "dev", "dev-adverse", "eval", "trec-dl-2019", "trec-dl-2020"]


def test_published_lexical_scores_are_compared_on_passages_as_they_are_distributed():
    loaded = load(scale="full")
    table = loaded.pages["lexical-baselines-msmarco_passage"]
    assert {loaded.bound_split(c.role).dataset for c in table.columns} == {"msmarco-passage-raw"}
    raw, mended = (loaded.datasets[f"msmarco-passage{end}"] for end in ("-raw", ""))
    assert (raw.splits, raw.editions) == (mended.splits, mended.editions)
    assert raw.source.docs == "msmarco-passage/raw"


def test_a_corpus_is_cut_by_its_largest_edition_into_shards_that_hold_docs(config):
    full = load(scale="full")
    assert full.shards("msmarco-passage", "clear") == 18  # 8,841,823 docs, 500,000 each
    assert full.shards("msmarco-document", "clear") == 39, "3,213,835 docs of 6 passages"
    assert full.shards("msmarco-document", "bm25-vectors") == 7, "read whole"
    assert load(scale="mini").shards("generated-mini", "clear") == 1
    assert load(scale="smoke").shards("generated-smoke", "clear") == 2
    edit(config, "scales/nfcorpus.yaml", shard_docs=500)
    assert (
        load(config, scale="nfcorpus").shards("nfcorpus", "clear") == 11
    )  # of 5,371 docs, or of 3,395
    edit(
        config,
        "datasets/cacm.yaml",
        editions=[{"name": "whole", "docs": 6000}, {"name": "sample", "docs": 3}],
    )
    assert load(config, scale="nfcorpus").shards("cacm", "clear") == 3, "none is empty in either"


def test_a_corpus_is_cut_by_the_vectors_that_a_model_makes_of_it(config):
    encoder = {"pooling": {"kind": "first", "vectors": 4}, "query_length": 8, "doc_length": 8}
    edit(config, "models/clear.yaml", encoder=encoder)
    made = load(config, scale="full")
    assert made.shards("msmarco-passage", "clear") == 71  # 4 x 8,841,823 vectors
    assert made.shards("msmarco-document", "clear") == 155  # of 6 passages, 4 each
    assert made.shards("msmarco-passage", "dualrm") == 18
    assert sizes.vectors(made, "msmarco-passage", "clear@x.train") == 4 * 8_841_823


def test_tables_of_a_paper_are_corrected_together_if_their_tests_say_so(config):
    assert family(load(config), "clear-table1") == []
    edit(config, "tests/clear.yaml", family="paper")
    made = load(config)
    assert family(made, "clear-table1") == ["clear-control", "clear-table2"]
    assert family(made, "dualrm-table4") == ["dualrm-table2", "dualrm-table5"]


def test_a_page_is_bound_with_its_tests(config):
    def hub(model):
        return None

    edit(config, "tests/clear.yaml", seed=7)
    made = load(config, scale="mini")
    assert bind_table(made, "clear-table1", hub).tests == made.tests["clear"]
    assert json.loads(page_spec(made, "clear-table1", hub))["tests"]["seed"] == 7
    figure = json.loads(page_spec(made, "clear-figure1", hub))
    assert figure["tests"]["correction"] == "holm"


def test_unknown_key_names_file_key_and_what_is_valid(config):
    edit(config, "systems/bm25.yaml", bm25={"k1": 0.9, "bee": 0.4})
    with pytest.raises(ResiduumError) as caught:
        load(config)
    text = unlined(caught.value)
    assert "systems/bm25.yaml: bm25.bee: unknown key; valid: b, k1." in text
    assert "systems/bm25.yaml: bm25.b: missing key" in text


def test_unknown_system_is_answered_with_the_closest_one_and_how_to_add_it(config):
    parts = {"parts": ["clear-embedding", "bm52"], "unretrieved": "minimum"}
    edit(config, "systems/clear.yaml", **parts, interpolation={"weighted": "bm52", "value": 0.5})
    with pytest.raises(ResiduumError) as caught:
        load(config)
    text = unlined(caught.value)
    assert "clear.yaml: parts: no system 'bm52'; known: bm25, " in text
    assert "Did you mean bm25?" in text
    assert f"To add one: {config}/systems/bm52.yaml" in text


def test_a_hybrid_takes_parts_that_compare_all_docs_and_a_measure_by_judgements(config):
    search = {"kind": "ivf", "nlist": 8, "nprobe": 2}
    edit(config, "systems/me-bert.yaml", kind="dense", model="me-bert", search=search)
    tuned = {"grid": [1.0], "tune_on": "own", "measure": "AnswerAccuracy@20"}
    entry = {"kind": "hybrid", "parts": ["me-bert", "bm25"], "k": 10}
    entry["interpolation"] = {"weighted": "me-bert", **tuned}
    (config / "systems" / "exact.yaml").write_text(yaml.safe_dump(entry))
    with pytest.raises(ResiduumError) as caught:
        load(config)
    text = unlined(caught.value)
    assert "exact.yaml: parts: 'me-bert' has a search of its own, and a hybrid compares" in text
    assert "exact.yaml: parts: system 'bm25' is of kind lexical; fitting: " in text
    assert "exact.yaml: interpolation.measure: AnswerAccuracy@20 reads answers" in text


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("bm25-vectors", {"passages": "first"}, "bm25-vectors makes no vector for each passage"),
        ("me-bert", {"passages": "first"}, "me-bert makes no vector for each passage of a doc, or"),
        (
            "de-bert",
            {"passages": "first", "search": {"kind": "ivf", "nlist": 8, "nprobe": 2}},
            "passages: first goes with a search that compares all; leave out one",
        ),
    ],
)
def test_first_passages_need_one_vector_each_and_an_exact_search(config, name, changes, says):
    entry = {"kind": "dense", "model": name, "k": 10, **changes}
    (config / "systems" / "cut.yaml").write_text(yaml.safe_dump(entry))
    with pytest.raises(ResiduumError) as caught:
        load(config)
    assert "cut.yaml" in str(caught.value) and says in str(caught.value)


@pytest.mark.parametrize(
    ("file", "key", "old", "says"),
    [
        ("scales/mini.yaml", "layers: 2\n    doc_length: 64", "layers: 9\n    doc_length: 64",
         "question-generator.yaml: layers: 9, but question-backbone, the start at this scale, has"),
        ("scales/mini.yaml", "layers: 2\n    doc_length: 64", "layers: 2\n    doc_length: 640",
         "question-generator.yaml: doc_length: 640, but question-backbone, the start at this"),
        ("datasets/generated-pubmed-mini.yaml", "doc_length: 64", "doc_length: 512",
         "splits.synthetic.synthetic.doc_length: 512, but question-backbone, the start at this"),
    ],
)  # fmt: skip
def test_a_generator_is_no_larger_than_a_backbone_made_here(config, file, key, old, says):
    text = (config / file).read_text()
    assert text.count(key) == 1
    (config / file).write_text(text.replace(key, old))
    with pytest.raises(ResiduumError) as caught:
        load(config, scale="mini")
    assert says in unlined(caught.value)


@pytest.mark.parametrize(
    ("within", "says"),
    [
        ({"grouping": "bm25-halves", "group": "hrad"}, "'hrad' is no group of bm25-halves: write"),
        ({"grouping": "batches", "group": "fold1"}, "dev names none: give it folds of splits.dev"),
        ({"grouping": "batches", "group": "Batch 1"}, "'Batch 1' is no group of batches: write"),
        ({"grouping": "batchs", "group": "batch1"}, "no grouping 'batchs'; known: batches, "),
    ],
)
def test_groups_that_a_column_cannot_have(config, within, says):
    (config / "groupings" / "batches.yaml").write_text("kind: folds\n")
    column = {"id": "rr", "role": "msmarco-dev", "measure": "RR@10", "header": "RR"}
    table = yaml.safe_load((config / "papers/clear/table1.yaml").read_text())
    table |= {"columns": [{**column, "within": within}], "reported": {}}
    (config / "papers/clear/table9.yaml").write_text(yaml.safe_dump(table))
    with pytest.raises(ResiduumError) as caught:
        load(config)
    assert "table9.yaml: columns.rr.within" in unlined(caught.value)
    assert says in str(caught.value)


def test_a_column_of_a_fold_that_the_split_names(config):
    (config / "groupings" / "batches.yaml").write_text("kind: folds\n")
    table = yaml.safe_load((config / "papers/roc/table3.yaml").read_text())
    column = next(column for column in table["columns"] if column["id"] == "robust-ap")
    # A row that names a system for each column names columns that this page lacks.
    table["rows"] = [row for row in table["rows"] if not isinstance(row.get("system"), dict)]
    for group in ("fold3", "fold7"):
        table["columns"] = [{**column, "within": {"grouping": "batches", "group": group}}]
        table["reported"] = {}
        (config / "papers/roc/table9.yaml").write_text(yaml.safe_dump(table))
        if group == "fold3":
            load(config)
        else:
            with pytest.raises(ResiduumError, match=r"no fold 'fold7'; known: fold1, fold2"):
                load(config)


def test_all_faults_come_in_one_message(config):
    edit(config, "systems/bm25.yaml", k=0)
    edit(config, "models/clear.yaml", backbone="bert-bass-uncased")
    edit(config, "papers/clear/table1.yaml", tolerance={"dev-rrr": 0.1})
    with pytest.raises(ResiduumError) as caught:
        load(config, scale="mini", papers=["cleer"])
    text = str(caught.value)
    assert "k: Input should be greater than 0 (found 0)" in text
    assert "Did you mean bert-base-uncased?" in text
    assert "tolerance.dev-rrr: no column 'dev-rrr'" in text
    assert re.search(r"no paper 'cleer'; known: .*\. Did you mean clear\?", text)


def test_a_file_without_kind_is_told_of_base_and_of_its_keys(config):
    (config / "models" / "mine.yaml").write_text("bse: dpr\ndescription: mine\n")
    says = r"mine\.yaml:1: \(top level\): missing key kind, or base: a file that has it"
    with pytest.raises(ResiduumError, match=rf"{says} \(found the keys bse, description\)"):
        load(config, scale="mini")


HUB = {"hub": "org/wide", "revision": "main"}
BY_DATASET = {"datasets": {"nq-250k": {**HUB, "hub": "org/wiki"}}, "otherwise": HUB}
ONE = {"editions": [{"name": "one", "docs": 1}]}


ICT = {
    **{"kind": "containing", "of": "wikipedia-sample", "field": "body", "length": 50, "seed": 1},
    **{"tokenizer": "bert-vocabulary", "lengths": [50, 100], "docs": 9, "tokens": [5, 25]},
    **{"queries": {"train": 1, "tune": 1, "test": 1}, "changed": [1, 2]},
}


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("scales/mini.yaml", {"roles": {"msmarco-train": "x"}}, "write dataset/split, found 'x'"),
        ("scales/mini.yaml", {"roles": {"own": "a/b"}}, "a collection's own splits; choose a name"),
        ("scales/mini.yaml", {"backbones": {"b": {"model": "nope"}}}, "no model 'nope'"),
        ("scales/mini.yaml", {"backbones": {"b": {**BY_DATASET, "datasets": {"nq-25k": {**HUB}}}}},
         ("backbones.b.datasets.nq-25k: no dataset 'nq-25k'", "Did you mean nq-250k?")),
        ("scales/mini.yaml", {"backbones": {"b": {"datasets": {}, "otherwise": HUB}}},
         "backbones.b.datasets: Dictionary should have at least 1 item"),
        ("scales/mini.yaml", {"backbones": {"b": {"datasets": {"nq-250k": {"path": "x"}}}}},
         "backbones.b.otherwise: missing key"),
        ("scales/mini.yaml", {"backbones": {"b": {"hbu": "org/x"}}},
         "backbones.b: give hub and revision, a path, a model, or datasets and otherwise"),
        ("models/clear.yaml", {"negatives": {}},
         "loss residual_margin needs sampled negatives with lexical scores: give negatives.pools"),
        ("models/clear.yaml", {"loss": "logistic", "negatives": {}},
         "loss logistic needs sampled negatives with lexical scores: give negatives.pools"),
        ("models/clear.yaml", {"loss": {"kind": "residual_margn", "xi": 1}},
         ("loss: no kind 'residual_margn'; known: ", "Did you mean residual_margin?")),
        ("models/clear.yaml", {"loss": {"kind": "nll", "xi": 1}},
         "loss.xi: unknown key; valid: kind, weight."),
        ("models/clear.yaml", {"losses": ["nll"]}, "give exactly one of loss and losses"),
        ("models/reranker-base.yaml", {"loss": None, "losses": ["nll", {"kind": "nll"}]},
         "losses nll, nll: one of them is given twice"),
        ("models/clear.yaml", {"budgets": ["tripled"]}, "Did you mean triplet?"),
        ("models/clear.yaml", {"budgets": [], "negatives": {"pools": {"any": "corpus"},
         "scores": "bm25-rm3", "per_pair": 1}}, "negatives.scores: 'bm25-rm3' is not plain BM25"),
        ("models/clear.yaml", {"budgets": [], "negatives": {"pools": {"errors": {"kind": "hits",
         "top": 9, "system": "clear-embedding"}}, "scores": "bm25", "per_pair": 1}},
         "the model would be made from itself"),
        ("models/clear.yaml", {"budgets": [], "negatives": {"pools": {"own": {"kind": "hits",
         "top": 9, "system": "clear"}}, "scores": "bm25", "per_pair": 1}},
         "negatives.pools.own.system: system 'clear' is of kind fusion; fitting: bert-init"),
        ("models/clear.yaml", {"negatives": {"pools": {"any": "corpus"}, "per_pair": 1}},
         "pools, scores and per_pair go together"),
        ("models/clear.yaml", {"negatives": {"pools": {"any": "corpus"}, "scores": "bm25",
         "per_pair": 1}}, "config/scales/mini.yaml: negatives.pools.errors: missing key kind"),
        ("models/clear.yaml", {"budgets": [], "negatives": {"pools": {"errors": ["hits"]},
         "scores": "bm25", "per_pair": 1}},
         'negatives.pools.errors: not a mapping with the key kind (found ["hits"])'),
        ("models/clear.yaml", {"negatives": {"same_as": "clear-random", "per_pair": 1}},
         "same_as takes the other model's tuples"),
        ("models/clear.yaml", {"negatives": {"scores": "bm25", "per_pair": 1, "pools": {
         n: {"kind": "hits", "system": "bm25", "top": 9} for n in ("a", "b")}}},
         "two pools hold the hits of one system"),
        ("models/bert-siamese.yaml", {"negatives": {"same_as": "deepct"}},
         "'deepct' has no tuples of its own"),
        ("systems/clear.yaml", {"parts": ["bm25", "bm25-bert-base"]},
         "parts: system 'bm25-bert-base' is of kind rerank; fitting: "),
        ("systems/clear.yaml", {"parts": ["bm25", "bm25-rm3"]},
         "true_score is computed for dense systems and plain BM25 only, and 'bm25-rm3' is neither"),
        ("systems/clear.yaml", {"parts": ["bm25", "clear"]},
         "the system would be made from itself"),
        ("systems/clear.yaml", {"parts": ["clear-embedding", "bm25-default"]},
         "interpolation.weighted: no part 'bm25'; known: bm25-default, clear-embedding"),
        ("systems/clear.yaml", {"unretrieved": {"bm25": "minimum"}}, "name every part, or write"),
        ("systems/clear.yaml", {"unretrieved": {"bm25": "minimum", "clear-embedding": "minimum",
         "bm52": "minimum"}}, "unretrieved.bm52: no part 'bm52'; known: bm25, clear-embedding"),
        ("systems/clear.yaml", {"parts": ["bm25", "clear-embedding", "bm25"]},
         "parts: 'bm25' is given twice"),
        ("systems/bert-siamese.yaml", {"kind": "dense", "model": "mini-bert"},
         "model: model 'mini-bert' is of kind backbone; fitting: bert-init, "),
        ("systems/deepct.yaml", {"term_weights": "clear"}, 
         "term_weights: model 'clear' is of kind dual-encoder; fitting: deepct"),
        ("systems/bm25-fields.yaml", {"rm3": {"value": {"feedback_docs": 1,
         "feedback_terms": 1, "original_query_weight": 0.5}}}, "boosts go with plain BM25"),
        ("systems/bm25-rm3.yaml", {"rm3": {"folds": 2}},
         "give value, or grid, folds, seed and measures"),
        ("systems/bm25-bert-base.yaml", {"reranker": "bert-bas-reranker"},
         "no reranker role 'bert-bas-reranker'"),
        ("systems/bm25-bert-base.yaml", {"first_stage": "clear-bert-large"}, 
         "first_stage: system 'clear-bert-large' is of kind rerank; fitting: "),
        ("systems/clear.yaml", {"interpolation": {"weighted": "bm25", "value": 0.5, "grid": [0.1]}},
         "give value, or grid"),
        ("systems/de-hybrid.yaml", {"interpolation": {"weighted": "bm25-unigrams",
         "grid": "exact", "tune_on": "own", "measure": "AP"}},
         "interpolation.grid: AP has no exact grid, as RR@k, Success@k and AnswerAccuracy@k have"),
        ("systems/clear.yaml", {"parts": ["bm25-rm3", "clear-embedding"],
         "unretrieved": "minimum", "interpolation": {"weighted": "bm25-rm3", "grid": [1.0],
         "measure": "RR@10", "folds": 4, "seed": 1}},
         "interpolation.folds: 'bm25-rm3' chooses by folds of the searched split, too"),
        ("systems/de-hybrid.yaml", {"interpolation": {"weighted": "bm25-unigrams",
         "grid": "exact", "tune_on": "own", "measure": "RR@@10"}},
         "de-hybrid.yaml: interpolation.measure: cannot read the measure 'RR@@10'"),
        ("systems/de-hybrid.yaml", {"interpolation": {"weighted": "bm25-unigrams",
         "grid": "exakt", "tune_on": "own", "measure": "RR@10"}}, "'exact'"),
        ("systems/guir-s2-run1.yaml", {"runs": {"trec-covid": "a.txt"}}, "no role 'trec-covid'"),
        ("systems/guir-s2-run1.yaml", {"md5": {"msmarco-dev": 32 * "a"}},
         "md5: no run is given for msmarco-dev"),
        ("systems/guir-s2-run1.yaml", {"md5": {"trec-covid-round2": "A1"}},
         "md5.trec-covid-round2: String should match pattern"),
        ("systems/bm25-rrf.yaml", {"parts": ["bm25", "bm25"]}, "parts: 'bm25' is given twice"),
        ("systems/bm25-rrf.yaml", {"parts": ["bm25", "bm25-bert-base"]},
         "system 'bm25-bert-base' is of kind rerank; fitting: "),
        ("systems/zero-shot.yaml", {"parts": ["bm25-rrf", "zero-shot-embedding"],
          "interpolation": {"weighted": "bm25-rrf", "value": 0.5}},
         "'bm25-rrf' is neither; write bm25-rrf: minimum"),
        ("scales/mini.yaml", {"rerankers": {"bert-base-reranker": {"model": "deepct"}}},
         ["model 'deepct' is of kind term-weights; fitting: ", "splade-pp-ed", "reranker-base"]),
        *(("models/dpr.yaml", {"encoder": {"pooling": kind, "query_length": 8, "doc_length": 8}},
           f"no training makes a model with pooling {kind}") for kind in ("static", "tokens")),
        ("scales/mini.yaml",
         {"rerankers": {"bert-base-reranker": {"model": "bge-base", "seed": 1}}},
         "rerankers.bert-base-reranker: seed: bge-base is not trained here; leave it out"),
        ("models/bge-base.yaml", {"queries": "bge-base-unprompted", "precision": "bf16"},
         "queries: 'bge-base-unprompted' has another precision; give both alike"),
        ("models/reranker-base.yaml", {"negatives": {}},
         "a cross-encoder needs negatives"),
        ("papers/clear/figure1.yaml", {"series": [{"id": "a", "label": "A", "system": "bm25"}]},
         "series.a.system: system 'bm25' is of kind lexical; fitting: bioasq-hybrid-first-rerank"),
        ("papers/clear/table3.yaml", {"kind": "tabel"},
         ("no kind 'tabel'; known: ", "Did you mean table?")),
        ("papers/clear/table3.yaml", {"before": "bm52"}, "no list 'bm52'; known: bm25, clear"),
        ("papers/clear/table1.yaml", {"printed_in": "not printed in a paper"},
         "printed_in: say where the numbers of `reported:` are printed"),
        ("papers/clear/claims.yaml", {"printed_in": "not printed in a paper"},
         "printed_in: say where the sentences are printed"),
        ("systems/bm25-bert-base.yaml", {"depth": 20},
         "depth: a mapping is needed, with some of folds, grid, measure, seed, tune_on, value"),
        ("systems/bm25-bert-base.yaml", {"depth": {"grid": [5, 10], "measure": "RR@10", "folds": 5,
         "tune_on": "own", "seed": 1}}, "give folds and seed in place of tune_on"),
        ("systems/bm25-bert-base.yaml", {"depth": {"grid": [5, 10], "value": "largest",
         "folds": 5, "seed": 1}}, "value largest goes with a grid, without tune_on, folds and"),
        ("systems/bm25-bert-base.yaml", {"first_stage": "bm25-rm3", "depth": {"grid": [5, 10],
         "measure": "RR@10", "folds": 5, "seed": 1}},
         "depth.folds: 'bm25-rm3' chooses by folds of the searched split, too"),
        ("systems/clear.yaml", {"unretrieved": "true-score"},
         "'minimum' or 'zero' (found \"true-score\"). Did you mean true_score?"),
        ("papers/dualrm/table1.yaml", {"reported": {"rows": {"dev": "1"}}}, "no row 'rows'"),
        ("datasets/nfcorpus.yaml", {"splits": {"test": {}}}, "splits.test: source irds needs"),
        ("datasets/nq-50.yaml", {"splits": {"test": {}}},
         "splits.test: source segments needs questions_of"),
        ("datasets/nq-50.yaml", {"splits": {"test": {"questions_of": "wikipedia-tets"}}},
         "no role 'wikipedia-tets'"),
        ("datasets/nq-50.yaml", {"splits": {"test": {"questions_of": "wikipedia-test",
         "queries": "q.tsv"}}}, "questions_of: queries and answers are those of another split"),
        ("datasets/ict-50.yaml", {"splits": {"dev": {}}},
         "splits.dev: its splits are those of source.queries ("),
        ("datasets/ict-50.yaml", {"splits": {"test": {"queries": "q.tsv"}}}, "made with the docs"),
        ("datasets/ict-50.yaml", {"source": {**ICT, "length": 7}, "budgets": []},
         "length: 7 is none of lengths: "),
        ("datasets/ict-50.yaml", {"source": {**ICT, "changed": [2, 1]}, "budgets": []},
         "changed: [2, 1]: the first"),
        ("datasets/ict-50.yaml", {"source": {**ICT, "of": "cacmm"}, "budgets": []},
         "source.of: no role 'cacmm'"),
        ("systems/candidates-bigrams.yaml",
         {"parts": [{"system": "clear", "top": 5}], "budgets": []},
         "system 'clear' is of kind fusion; fitting: "),
        ("systems/candidates-unigrams.yaml", {"parts": [
         {"system": name, "top": 5} for name in ("bm25", "bm25")], "budgets": []},
         "'bm25' is given twice"),
        ("systems/clear.yaml", {"parts": ["clear-embedding", "candidates-bigrams"]},
         "system 'candidates-bigrams' is of kind candidates; fitting: "),
        ("papers/mebert/a1ict.yaml", {"columns": [{"id": "a", "role": "ict-50-test",
         "over": "bm25", "measure": "RR@10", "header": "A"}]},
         "system 'bm25' is of kind lexical; fitting: candidates-"),
        ("papers/mebert/figure4.yaml", {"table": "a1itc"}, "table: no table 'a1itc'; known: "),
        ("papers/mebert/figure4.yaml", {"rows": ["bm52"]}, "rows: no row 'bm52'"),
        ("papers/clear/table1.yaml", {"tolerance": {"dev-recall": 0.1}},
         "reported.bm25.dev-rr: `tolerance:` has neither its column nor a default"),
        ("papers/clear/table1.yaml", {"reported": {"bm25": {"dev-rr": "0.1 ^9"}}},
         "no row has the index 9"),
        ("papers/clear/table1.yaml", {"rows": [
            {"id": name, "label": name, "system": name, "index": 1} for name in ("bm25", "clear")]},
         "rows.clear.index: the row 'bm25' has the index 1 too"),
        ("papers/clear/table1.yaml", {"reported": {"bm25": {"dev-rr": "0.1 ↓"}}},
         "an arrow, but the row has no `below:`"),
        ("datasets/nfcorpus.yaml", {"splits": {"test": {"irds": "x", "measures": ["RR10"]}}, **ONE},
         "splits.test.measures: cannot read the measure 'RR10': measure not found: RR10"),
        ("datasets/nfcorpus.yaml", {"splits": {"test": {"irds": "x", "measures": ["P"]}}, **ONE},
         "cannot read the measure 'P': it needs a cutoff"),
        ("datasets/cacm.yaml",
         {"editions": [{"name": "x", "docs": 1, "splits": {"tset": {"queries": 1, "qrels": 1}}}]},
         "editions.0.splits.tset: no split 'tset'; known: test. Did you mean test?"),
        ("datasets/cacm.yaml", {"downloads": [{"file": "x", "splits": ["dev"]}]},
         "downloads.0.splits: no split 'dev'; known: test"),
        ("datasets/cacm.yaml",
         {"windows": {"length": 9, "stride": 5, "body": "body", "expected": 2}},
         "windows: docs keep no field body; kept: none"),
        ("datasets/cacm.yaml", {"splits": {"test": {"questions": "a", "queries": "b"}}},
         "questions brings the queries; leave out queries, qrels and irds"),
        ("datasets/cacm.yaml", {"splits": {"test": {"queries": "a", "qrels": "b", "irds": "c"}}},
         "irds and answers_field go with source irds, not with files"),
        ("datasets/robust04.yaml",
         {"splits": {"test": {"irds": "x", "folds": ["a", "a"]}, "a": {"irds": "y"}}, **ONE,
          "downloads": []},
         "splits.test.folds: 'a' is the split itself, or is given twice"),
        ("datasets/robust04.yaml",
         {"splits": {"test": {"irds": "x", "folds": ["b"]}, "a": {"irds": "y"}}, **ONE,
          "downloads": []}, "splits.test.folds: no split 'b'; known: a, test"),
        ("datasets/robust04.yaml",
         {"splits": {"test": {"irds": "x", "residual_of": ["test"]}}, **ONE, "downloads": []},
         "splits.test.residual_of: 'test' is the split itself, or is given twice"),
        ("datasets/robust04.yaml",
         {"splits": {"test": {"irds": "x", "residual_of": ["b"]}}, **ONE, "downloads": []},
         "splits.test.residual_of: no split 'b'; known: test"),
        ("datasets/robust04.yaml",
         {"splits": {"test": {"irds": "x", "residual_of": ["b"]}, "b": {"irds": "y",
          "unjudged": True}}, **ONE, "downloads": []},
         "splits.test.residual_of: 'b' has no judgements of docs"),
        ("datasets/robust04.yaml",
         {"splits": {"a": {"irds": "x"}, "b": {"irds": "y"}, "test": {"residual_of": ["b"],
          "holdout": {"of": "a", "queries": 1, "seed": 1}}}, **ONE, "downloads": []},
         "splits.test.residual_of: a holdout has that of 'a'"),
        ("datasets/generated-mini.yaml", {"splits": {"train": {"residual_of": ["dev"]}}},
         ("models/clear.yaml: train_on: generated-mini/train is residual: docs judged in dev",
          "models/deepct.yaml: train_on: generated-mini/train is residual")),
        ("datasets/cacm.yaml", {"splits": {"test": {"holdout": {"of": "all", "queries": 1,
         "seed": 1}}}}, "splits.test.holdout.of: no split 'all'; known: test"),
        ("datasets/cacm.yaml", {"splits": {"test": {"part": {"of": "all", "ids": ["1"]}}}},
         "splits.test.part.of: no split 'all'; known: test"),
        ("datasets/cacm.yaml", {"splits": {"test": {"part": {"of": "b", "ids": ["1", "2", "1"]}}}},
         "splits.test.part: ids: query 1 is given twice"),
        ("datasets/cacm.yaml", {"splits": {"test": {"part": {"of": "b", "ids": ["1"]},
         "queries": "q", "unjudged": True}}},
         "part: queries, judgements and answers are those of 'b'; leave out queries, unjudged"),
        ("datasets/robust04.yaml",
         {"splits": {"a": {"part": {"of": "b", "ids": ["1"]}}, "b": {"part": {"of": "test",
          "ids": ["1"]}}, "test": {"irds": "x"}}, **ONE, "downloads": []},
         "splits.a.part.of: 'b' is a part too"),
        ("datasets/robust04.yaml",
         {"splits": {"a": {"part": {"of": "test", "ids": ["1", "2"]}}, "b": {"part": {"of": "test",
          "ids": ["3", "2"]}}, "test": {"irds": "x", "folds": ["a", "b"]}}, **ONE, "downloads": []},
         "splits.test.folds: query 2 is in a and in b; folds divide the queries"),
        ("datasets/cacm.yaml", {"splits": {"test": {"relevant_by": "answers"}}},
         "splits.test.relevant_by: the split has no answers: give answers_field, questions or "
         "questions_of"),
        ("datasets/robust04.yaml",
         {"splits": {"a": {"irds": "x"}, "test": {"irds": "y", "answers_field": "z",
          "relevant_by": "answers", "residual_of": ["a"]}}, **ONE, "downloads": []},
         "splits.test.relevant_by: docs judged before leave every run, and may hold an answer"),
        ("datasets/robust04.yaml",
         {"splits": {"a": {"irds": "x", "answers_field": "z"}, "test": {"relevant_by": "answers",
          "holdout": {"of": "a", "queries": 1, "seed": 1}}}, **ONE, "downloads": []},
         "splits.test.relevant_by: a holdout has that of 'a'"),
        ("models/clear.yaml", {"negatives": {"without_answers": True}},
         "without_answers: only pools leave out docs; give pools"),
        ("models/clear-random.yaml", {"budgets": [], "negatives": {"same_as": "clear",
         "without_answers": True}}, "same_as takes the other model's tuples"),
        ("datasets/cacm.yaml", {"budgets": ["tripled"]}, "mean triplet? To add one: budgets: of a"),
        ("systems/clear.yaml",
         {"interpolation": {"weighted": "bm25", "grid": [0.1], "tune_on": "msmarco-tune",
          "measure": "AnswerAccuracy@20"}},
         "systems/clear.yaml: interpolation.measure: generated-mini/tune has no answers, "
         "but AnswerAccuracy@20 reads them"),
        ("scales/mini.yaml", {"editions": {"cacm": [{"name": "x", "docs": 1, "splits": {
            "tset": {"queries": 1, "qrels": 1}}}]}},
         "config/scales/mini.yaml: editions.0.splits.tset: no split"),
        ("scales/mini.yaml", {"editions": {"cacn": [{"name": "x", "docs": 1}]}},
         "editions.cacn: no dataset 'cacn'; known: cacm, car, "),
        ("scales/mini.yaml", {"roles": {"msmarco-train": "generated-mini/tran"}},
         "roles.msmarco-train: no split 'tran'; known: dev, dev-adverse, fold1, "),
        ("scales/mini.yaml", {"base": "ful"}, "scales without a base 'ful'; known: full, "),
        ("datasets/generated-mini.yaml", {"splits": {"test": {}}},
         "a generated collection has train, tune, dev, judged"),
        ("scales/mini.yaml", {"seeds": [1, 1]}, "mini.yaml: seeds: '1' is given twice"),
        ("papers/clear/table1.yaml", {"tests": "cleer"},
         "no tests 'cleer'; known: bioasq, claims, clear, depths, holm, me-bert, released, roc."),
        ("papers/clear/table1.yaml", {"tests": "roc", "baselines": ["bm52"], "reported": {}},
         "baselines: no row 'bm52'; known: bert-siamese, bm25,"),
        ("papers/clear/table1.yaml", {"tests": "roc"}, "roc: its tests name rows in `baselines:`"),
        ("papers/clear/table1.yaml", {"baselines": ["bm25"]}, "all pairs; drop `baselines:`"),
        ("papers/clear/table1.yaml", {"tests": "roc", "baselines": ["bm25"]},
         "reported.clear.dev-rr: a marker about deepct, which is not in `baselines:`"),
        ("papers/clear/figure1.yaml", {"tests": "cleer"}, "no tests 'cleer'"),
        ("papers/clear/figure1.yaml", {"tests": "clear"}, "compares with its first series only"),
        ("tests/depths.yaml", {"family": "paper"}, "is not in its paper's family"),
        ("tests/clear.yaml", {"resamples": 0},
         "resamples: Input should be greater than 0 (found 0)"),
        ("tests/clear.yaml", {"correction": "holms"}, "tests/clear.yaml: correction: Input should"),
        ("papers/clear/table1.yaml", {"reported": {"bm25": {"dev-rr": "0,1"}}},
         "cannot read the cell '0,1'"),
    ],
)  # fmt: skip
def test_each_kind_of_broken_reference(config, name, changes, says):
    edit(config, name, **changes)
    with pytest.raises(ResiduumError) as caught:
        load(config, scale="mini")
    for text in [says] if isinstance(says, str) else says:
        assert text in unlined(caught.value)
    assert name.rsplit("/", 1)[1] in str(caught.value)


def nothing_missing(model):
    return None


def test_what_a_scale_does_not_bind_is_not_run_with_its_reason(config):
    data = yaml.safe_load((config / "scales" / "mini.yaml").read_text())
    del data["roles"]["msmarco-tune"], data["backbones"]["untrained"]
    edit(config, "scales/mini.yaml", roles=data["roles"], backbones=data["backbones"])
    job = bind_table(load(config, scale="mini"), "clear-table1", nothing_missing)
    absent = {row: cells.get("dev-rr") for row, cells in job.absent.items()}
    assert absent["bm25"] is None
    assert absent["clear"] == "scale mini binds nothing to msmarco-tune"
    assert absent["bert-siamese"] == "scale mini binds nothing to untrained"
    assert absent["deepct"] == "scale mini binds nothing to untrained"
    assert not any(path.startswith("generated-mini/dev/clear") for path in metrics_files([job]))


def test_a_hub_model_that_cannot_be_had_empties_its_rows_only():
    def hub(model):
        return "no such model" if "large" in model.hub else None

    loaded = load(scale="full")
    job = bind_table(loaded, "clear-table2", hub)
    absent = {row for row, cells in job.absent.items() if cells}
    assert absent == {"bm25-large", "clear-large"}
    assert job.absent["bm25-large"]["dev-rr"] == "no such model"
    assert why_not_made(loaded, "clear-figure1", hub) is None
    assert why_not_made(loaded, "clear-table4", hub) == "no such model"


def test_an_external_run_is_not_run_where_its_file_is_absent(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    loaded = load(scale="mini")
    column = bind_table(loaded, "dualrm-table5", nothing_missing).absent["guir"]["p"]
    path = tmp_path / "trec-covid" / "round2" / "GUIR_S2_run1.txt"
    assert column.startswith(f"no such file: {path}. The best automatic run")
    path.parent.mkdir(parents=True)
    path.write_text("")
    anew = load(scale="mini")
    assert bind_table(anew, "dualrm-table5", nothing_missing).absent["guir"] == {}


CACM = ("docs.jsonl", "queries.tsv", "qrels.txt")


def test_a_dataset_whose_files_are_absent_is_not_run_with_its_access_note(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    loaded = load(scale="mini")

    def absent():
        anew = load(scale="mini")
        return bind_table(anew, "lexical-baselines-cacm", nothing_missing).absent

    paths = [tmp_path / "cacm" / name for name in CACM]
    note = loaded.datasets["cacm"].access
    why = f"no such file: {', '.join(map(str, paths))}. Access to cacm: {note}"
    assert absent() == {row: {"ap": why, "p30": why} for row in ("bm25", "bm25-rm3")}
    (tmp_path / "cacm").mkdir()
    for path in paths[:2]:
        path.write_text("")
    assert absent()["bm25"]["ap"].startswith(f"no such file: {paths[2]}. Access to cacm: put")
    paths[2].write_text("")
    assert absent() == {"bm25": {}, "bm25-rm3": {}}


def test_what_is_trained_or_tuned_on_absent_data_is_not_run(config, monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    for role in ("msmarco-train", "msmarco-tune"):
        data = yaml.safe_load((config / "scales" / "mini.yaml").read_text())
        roles = {**data["roles"], role: "cacm/test"}
        edit(config, "scales/mini.yaml", roles=roles)
        made = load(config, scale="mini")
        edit(config, "scales/mini.yaml", roles=data["roles"])
        dev = made.binding("msmarco-dev")
        assert availability.why_unavailable(made, "bm25", dev, nothing_missing) is None
        why = availability.why_unavailable(made, "clear", dev, nothing_missing)
        assert why.startswith(f"no such file: {tmp_path / 'cacm' / 'docs.jsonl'}"), role


def test_characteristics_of_absent_data_are_not_counted(config, monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    data = yaml.safe_load((config / "scales" / "mini.yaml").read_text())
    edit(config, "scales/mini.yaml", roles={**data["roles"], "msmarco-dev": "cacm/test"})
    made = load(config, scale="mini")
    spec = json.loads(page_spec(made, "dualrm-table1", nothing_missing))
    column = next(c["id"] for c in spec["entry"]["columns"] if c["role"] == "msmarco-dev")
    queries = tmp_path / "cacm" / "queries.tsv"
    assert set(spec["absent"]) == {column}
    assert spec["absent"][column].startswith(f"no such file: {queries}, "), "no corpus is needed"


def test_seeds_follow_what_is_trained_once_per_seed():
    loaded = load(scale="mini", seeds=[1, 2])
    assert loaded.runs("deepct-rm3") == ["deepct-rm3.seed1", "deepct-rm3.seed2"]
    assert loaded.runs("bm25-bert-base") == ["bm25-bert-base"], "the reranker is made once"
    assert loaded.run("clear-bert-base", 2) == "clear-bert-base.seed2"


def test_a_grid_of_the_scale_replaces_the_papers():
    full, mini = (load(scale=scale).systems["bm25-rm3"].rm3 for scale in ("full", "mini"))
    assert len(full.grid.settings()) == 900
    assert len(mini.grid.settings()) < 50 and mini.measures == full.measures


def test_tuned_rm3_knows_the_measure_of_a_split():
    loaded = load(scale="mini")
    generated = partial(SplitId, "generated-mini")
    assert availability.rm3_measure(loaded, "bm25-rm3", generated("dev")) == "RR@10"
    assert availability.rm3_measure(loaded, "bm25-rm3", generated("judged")) == "nDCG@10"
    assert availability.rm3_measure(loaded, "bm25-rm3", generated("tune")) is None
    assert "names no role that this scale binds to generated-mini/tune" in (
        availability.why_unavailable(loaded, "bm25-rm3", generated("tune"), nothing_missing)
    )


def test_a_reranker_that_a_system_names_has_an_id_of_its_own(config):
    own = {"hub": "some/reranker", "revision": "abc", "reading": {}}
    edit(config, "systems/clear-bert-large.yaml", reranker=own)
    edit(config, "systems/clear-bert-base.yaml", reranker=own)
    edit(config, "systems/bm25-bert-large.yaml", reranker={"model": "reranker-base", "seed": 3})
    loaded = load(config, scale="mini")
    shared = loaded.reranker("clear-bert-large")
    assert shared == loaded.reranker("clear-bert-base"), "its pairs are scored once"
    assert shared.startswith("some_reranker@")
    assert loaded.reranker_binding(shared).revision == "abc"
    assert loaded.reranker("bm25-bert-large") == "reranker-base@seed3"
    assert loaded.reranker_binding("reranker-base@seed3").seed == 3
    assert loaded.reranker_binding("bert-large-reranker").model == "reranker-large"
    assert loaded.reranker("bm25-bert-base") == "bert-base-reranker"


def test_a_broken_table_does_not_make_its_paper_unknown(config):
    edit(config, "papers/clear/table1.yaml", rows=[{"id": "a", "label": "A"}])
    with pytest.raises(ResiduumError, match=r"rows\.0: give exactly one of system") as caught:
        load(config)
    assert "no paper" not in str(caught.value)
    assert load(papers="clear").config.papers == ["clear"]


def test_file_names_are_ids(config):
    shutil.copy(config / "systems" / "bm25.yaml", config / "systems" / "bm25.v2.yaml")
    (config / "papers" / "my.paper").mkdir()
    page = config / "papers" / "clear" / "table1.yaml"
    shutil.copy(page, config / "papers" / "clear" / "table-1.yaml")
    with pytest.raises(ResiduumError) as caught:
        load(config)
    assert "bm25.v2.yaml: a file's name is its id" in str(caught.value)
    assert "my.paper: a paper's folder is named by small letters" in str(caught.value)
    assert "table-1.yaml:2: a page's name has no hyphen; write _ for it" in str(caught.value)


def test_a_paper_may_have_hyphens(config):
    shutil.copytree(config / "papers" / "clear", config / "papers" / "clear-again")
    made = load(config, papers="clear-again")
    assert made.chosen("table") == [f"clear-again-{n}" for n in ("control", "table1", "table2")]
    assert parts_of("clear-again-table1") == ("clear-again", "table1")
    assert parts_of("clear-table1") == ("clear", "table1")


def test_another_encoder_makes_numbers_not_comparable(tmp_path):
    assert load(scale="full").comparability("clear-table1").comparable
    replaced = load(scale="full", encoder=str(tmp_path)).comparability("clear-table1")
    assert not replaced.comparable
    assert replaced.reason == f"encoder {tmp_path} takes the place of the scale's own."


def test_a_page_says_why_its_numbers_compare_or_its_paper_does_or_the_scale():
    full = load(scale="full")
    assert not full.comparability("bioasq-table2").comparable
    assert "another generator" in full.comparability("bioasq-table2").reason
    table = full.comparability("roc-table3")
    assert table.comparable and [*table.but] == ["nq-ap"]
    assert full.comparability("roc-figure4") == full.comparability("roc-claims") != table
    own = full.comparability("lexical-baselines-nq")
    assert (own.comparable, own.reason) == (full.scale.comparable, full.scale.reason)


def test_every_paper_says_at_full_why_its_numbers_compare():
    full = load(scale="full")
    papers = {parts_of(name)[0] for name in full.pages} - {"lexical-baselines"}  # their index does
    assert papers <= {*full.scale.pages}


@pytest.mark.parametrize(
    ("pages", "message"),
    [
        ({"claer": {}}, "pages.claer: no paper 'claer'; known: .*Did you mean clear"),
        ({"clear/table9": {}}, "pages.clear/table9: no page 'clear/table9'"),
        ({"clear/table1": {"but": {"dev-r": "x"}}}, "no row or column 'dev-r'; known: .*dev-rr"),
        ({"clear": {"but": {"dev-rr": "x"}}}, "'dev-rr': only a page has rows and columns"),
        ({"clear/table1": {"comparable": False, "but": {"dev-rr": "x"}}}, "no number of the page"),
    ],
)  # fmt: skip
def test_pages_of_a_scale_name_what_is_there(config, pages, message):
    made = {name: {"comparable": True, "reason": "so", **keys} for name, keys in pages.items()}
    edit(config, "scales/mini.yaml", pages=made)
    with pytest.raises(ResiduumError, match=message):
        load(config, scale="mini")


def test_what_only_people_read_is_no_part_of_a_spec(config):
    before = load(config, scale="mini")
    edit(config, "models/clear.yaml", description="Told better.")
    edit(config, "systems/bm25.yaml", label="Okapi")
    edit(config, "datasets/generated-mini.yaml", access="otherwise", title="New")
    after = load(config, scale="mini")
    assert specs.of_entry(before.models["clear"]) == specs.of_entry(after.models["clear"])
    assert specs.of_entry(before.systems["bm25"]) == specs.of_entry(after.systems["bm25"])
    one, two = before.datasets["generated-mini"], after.datasets["generated-mini"]
    assert one.for_corpus() == two.for_corpus()
    assert one.for_split("dev") == two.for_split("dev")


def test_a_new_split_leaves_the_others_as_they_are(config):
    before = load(config, scale="full").datasets["msmarco-passage"]
    data = yaml.safe_load((config / "datasets" / "msmarco-passage.yaml").read_text())
    data["splits"]["trec-dl-2020"] = {"irds": "msmarco-passage/trec-dl-2020/judged"}
    edit(config, "datasets/msmarco-passage.yaml", splits=data["splits"])
    after = load(config, scale="full").datasets["msmarco-passage"]
    assert before.for_corpus() == after.for_corpus()
    assert before.for_split("train") == after.for_split("train")
    data["splits"]["more"] = {"holdout": {"of": "train", "queries": 5, "seed": 2}}
    edit(config, "datasets/msmarco-passage.yaml", splits=data["splits"])
    changed = load(config, scale="full").datasets["msmarco-passage"]
    assert before.for_split("train") != changed.for_split("train"), "it loses queries"


def test_what_judges_a_split_decides_its_export_and_not_which_docs_a_sample_holds(config):
    before = load(config, scale="full").datasets["nq-250k"]
    data = yaml.safe_load((config / "datasets" / "nq-250k.yaml").read_text())
    assert data["splits"]["dev"].pop("relevant_by") == "answers"
    edit(config, "datasets/nq-250k.yaml", splits=data["splits"])
    after = load(config, scale="full").datasets["nq-250k"]
    assert before.source.sample.keep == ["train", "dev"], "dev's own judgements choose docs"
    assert before.for_corpus() == after.for_corpus()
    assert before.for_split("test") == after.for_split("test")
    assert before.for_split("dev") != after.for_split("dev")


def test_a_listed_fold_leaves_what_it_is_part_of_as_it_is(config):
    before = load(config, scale="full").datasets["robust04"]
    data = yaml.safe_load((config / "datasets" / "robust04.yaml").read_text())
    data["splits"]["mcdonald1"]["part"]["ids"].remove("302")
    edit(config, "datasets/robust04.yaml", splits=data["splits"])
    after = load(config, scale="full").datasets["robust04"]
    for name in ("test", "test-mcdonald", "mcdonald2"):
        assert before.for_split(name) == after.for_split(name)
    assert before.for_split("mcdonald1") != after.for_split("mcdonald1")


def test_a_key_that_is_given_twice_is_a_fault(config):
    path = config / "systems" / "bm25.yaml"
    path.write_text((text := path.read_text()) + "k: 10\n")
    line = len(text.splitlines()) + 1
    with pytest.raises(
        ResiduumError, match=rf"bm25.yaml: .* line {line}: key 'k' is given twice"
    ) as caught:
        load(config)
    assert str(caught.value).startswith("1 fault "), "what refers to the broken entry is no fault"


def test_unknown_scale_and_unknown_config_key():
    with pytest.raises(ResiduumError, match=r"no scale 'minii'.*Did you mean mini\?"):
        load(scale="minii")
    with pytest.raises(
        ResiduumError, match="config: scael: unknown key; valid: arithmetic, device, docs, encoder"
    ):
        load(scael="mini")


def test_a_null_in_a_budget_removes_the_key():
    assert entries.merge({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": None, "e": 4}}) == {
        "a": 1,
        "b": {"d": 3, "e": 4},
    }


def test_steps_and_epochs_take_each_others_place():
    epochs, steps = {"epochs": 3, "k": 1}, {"steps": 7, "k": 1}
    assert entries.merge(epochs, {"steps": 7}) == steps == entries.merge(steps, {"k": 1})
    assert entries.merge(steps, {"epochs": 3}) == epochs
    assert entries.merge(epochs, {"steps": None}) == epochs, "nothing takes their place"
    both = {"epochs": 3, "steps": 7, "k": 1}
    assert entries.merge(epochs, {"epochs": 3, "steps": 7}) == both, "a fault that the schema names"


def test_a_scale_over_a_base_gives_steps_in_place_of_epochs(config):
    budgets = "  dpr: {training: {steps: 7}}\n  triplet: {training: {epochs: 3}}\n"
    (config / "scales" / "mine.yaml").write_text(f"base: midsize\nbudgets:\n{budgets}")
    assert load(config, scale="midsize").models["dpr"].training.epochs == 2
    dpr, clear = (load(config, scale="mine").models[name].training for name in ("dpr", "clear"))
    assert (dpr.epochs, dpr.steps, dpr.batch_size) == (None, 7, 28)
    assert (clear.epochs, clear.steps) == (3, None)


def test_another_kind_replaces_what_lies_under_it():
    base = {"loss": {"kind": "residual_margin", "xi": 1.0}, "k": 5}
    assert entries.merge(base, {"loss": {"kind": "nll"}}) == {"loss": {"kind": "nll"}, "k": 5}
    same = entries.merge(base, {"loss": {"kind": "residual_margin", "lambda_train": 0.1}})
    assert same["loss"] == {"kind": "residual_margin", "xi": 1.0, "lambda_train": 0.1}


def test_an_ablation_is_two_lines(config):
    (config / "models" / "clear-wide.yaml").write_text(
        "base: clear\nloss: {kind: constant_margin, margin: 2.0}\n"
    )
    (config / "systems" / "clear-wide.yaml").write_text("base: clear\nunretrieved: minimum\n")
    loaded = load(config, scale="mini")
    clear, wide = loaded.models["clear"], loaded.models["clear-wide"]
    assert wide.loss == ConstantMargin(kind="constant_margin", margin=2.0)
    assert wide.model_copy(update={"loss": clear.loss}) == clear, "with its budgets"
    system = loaded.systems["clear-wide"]
    assert system.model_copy(update={"unretrieved": "true_score"}) == loaded.systems["clear"]


def test_a_model_over_a_base_shares_its_tuples(config):
    (config / "models" / "clear-wide.yaml").write_text(
        "base: clear\nnegatives: {same_as: clear}\nloss: {xi: 2.0}\nbudgets: [triplet]\n"
    )
    loaded = load(config, scale="mini")
    clear, wide = loaded.models["clear"], loaded.models["clear-wide"]
    assert (wide.loss.xi, wide.loss.lambda_train) == (2.0, clear.loss.lambda_train)
    assert wide.negatives.model_dump(exclude_unset=True) == {"same_as": "clear"}
    assert loaded.tuples_of("clear-wide") == "clear"
    same = {"loss": clear.loss, "negatives": clear.negatives, "budgets": clear.budgets}
    assert wide.model_copy(update=same) == clear


def test_a_fault_over_a_base_is_at_the_key_or_names_both_files(config):
    (config / "models" / "clear-wide.yaml").write_text("base: clear\nencoder: {lenght: 5}\n")
    with pytest.raises(ResiduumError) as caught:
        load(config)
    at = f"{config}/models/clear-wide.yaml:2"
    assert f"{at}: encoder.lenght: unknown key; valid: " in str(caught.value)
    (config / "models" / "clear-wide.yaml").write_text("base: clear\nlosses: [{kind: nll}]\n")
    with pytest.raises(ResiduumError) as caught:
        load(config)
    base = entries.Folder(config / "models").locations["clear"]
    at = f"{config}/models/clear-wide.yaml:1 (base: clear, {base.path}:{base.line()})"
    assert f"{at}: (top level): give exactly one of loss and losses" in str(caught.value)


def test_a_broken_base_is_told_once_and_a_base_has_none_itself(config):
    (config / "models" / "a.yaml").write_text("base: clear\n")
    edit(config, "models/clear.yaml", loss={"kind": "nil"})
    with pytest.raises(ResiduumError) as caught:
        load(config)
    text = str(caught.value)
    assert text.startswith("1 fault ") and "no kind 'nil'" in text
    (config / "models" / "b.yaml").write_text("base: a\n")
    with pytest.raises(ResiduumError, match=r"b\.yaml:1: base: 'a' has a base itself, 'clear'"):
        load(config)


def test_a_budget_sets_the_seeds_of_a_model(config):
    data = yaml.safe_load((config / "scales" / "mini.yaml").read_text())
    data["budgets"]["random-negatives"]["seeds"] = [2, 9]
    edit(config, "scales/mini.yaml", budgets=data["budgets"])
    loaded = load(config, scale="mini")
    assert loaded.runs("clear-random") == ["clear-random.seed2", "clear-random.seed9"]
    assert loaded.runs("clear") == ["clear.seed1", "clear.seed2", "clear.seed3"]
    assert load(config, scale="mini", seeds=[4]).runs("clear-random") == ["clear-random.seed4"]
    assert specs.of_entry(loaded.models["clear-random"]) == (
        specs.of_entry(load(scale="mini").models["clear-random"])
    ), "which seeds there are does not change what one of them is"


def test_runs_have_the_seeds_that_all_models_behind_them_have(config):
    edit(config, "models/deepct.yaml", seeds=[3, 2, 7])
    weighted = {"weighted": "deepct", "value": 0.5}
    edit(config, "systems/clear.yaml", parts=["deepct", "clear-embedding"], interpolation=weighted)
    assert load(config, scale="mini").runs("clear") == ["clear.seed3", "clear.seed2"]
    edit(config, "models/deepct.yaml", seeds=[7])
    with pytest.raises(
        ResiduumError, match=r"clear.yaml:\d+: its models and external runs have no seed in"
    ):
        load(config, scale="mini")


def test_a_budget_lies_over_a_dataset(config):
    edit(config, "datasets/msmarco-passage.yaml", budgets=["part"])
    data = yaml.safe_load((config / "scales" / "nfcorpus.yaml").read_text())
    sample = {"docs": 1000, "seed": 1, "keep": ["dev"]}
    data["budgets"]["part"] = {
        "source": {"sample": sample},
        "editions": [{"name": "p", "docs": 1000}],
    }
    edit(config, "scales/nfcorpus.yaml", budgets=data["budgets"])
    assert load(config, scale="nfcorpus").datasets["msmarco-passage"].source.sample.docs == 1000
    assert load(config, scale="full").datasets["msmarco-passage"].source.sample is None


def test_a_system_made_from_itself_is_a_fault(config):
    edit(config, "systems/clear-bert-base.yaml", first_stage="clear-bert-base")
    with pytest.raises(
        ResiduumError, match=r"clear-bert-base.yaml:\d+: at scale smoke the system would"
    ):
        load(config, scale="smoke")


def test_a_cycle_is_named_with_all_that_it_passes(config):
    one = {"weighted": "bm25", "value": 0.5}
    edit(config, "systems/clear.yaml", parts=["bm25", "zero-shot"], interpolation=one)
    edit(config, "systems/zero-shot.yaml", parts=["bm25", "clear"], interpolation=one,
         unretrieved="minimum")  # fmt: skip
    edit(config, "systems/clear.yaml", unretrieved="minimum")
    with pytest.raises(ResiduumError) as caught:
        load(config, scale="smoke")
    text = str(caught.value)
    assert "clear -> zero-shot -> clear" in text or "zero-shot -> clear -> zero-shot" in text


def test_a_fault_within_a_union_is_at_the_keys_that_the_file_has(config):
    pools = {"hits": {"kind": "hits", "system": "bm25"}}
    edit(config, "models/clear.yaml", negatives={"pools": pools, "scores": "bm25", "per_pair": 1})
    edit(config, "datasets/nfcorpus.yaml", source={"kind": "irds", "text_fields": [], "docz": "x"})
    with pytest.raises(ResiduumError) as caught:
        load(config)
    text = unlined(caught.value)
    assert "clear.yaml: negatives.pools.hits.top: missing key" in text
    assert "nfcorpus.yaml: source.docs: missing key" in text
    assert "nfcorpus.yaml: source.text_fields: List should have at least 1 item" in text
    assert "source.docz: unknown key; valid: docs, fields, kind, quoted, repeated, sample, " in text
    assert "text_fields. Did you mean docs?" in text


def test_what_belongs_to_a_collection_is_trained_and_tuned_on_its_own_splits(config):
    edit(config, "datasets/nfcorpus.yaml", own={"train": "train", "tune": "dev"})
    (config / "models" / "mine.yaml").write_text("base: clear\ntrain_on: own\n")
    (config / "systems" / "mine.yaml").write_text("base: clear\ninterpolation: {tune_on: own}\n")
    loaded = load(config, scale="mini")
    model = loaded.model_for("mine", "nfcorpus")
    assert model == "mine@nfcorpus.train"
    assert loaded.train_split(model) == SplitId("nfcorpus", "train")
    assert loaded.tune_split("mine", SplitId("nfcorpus", "test")) == SplitId("nfcorpus", "dev")
    with pytest.raises(ResiduumError, match=r"cacm.yaml: own.train: no split given.* one of test"):
        loaded.model_for("mine", "cacm")
    with pytest.raises(ResiduumError, match=r"cacm.yaml: own.tune: no split given.* one of test"):
        loaded.tune_split("mine", SplitId("cacm", "test"))


def test_a_split_may_be_tuned_on_another_split_than_its_collection_is(config):
    loaded = load(config, scale="mini")
    tuned = [loaded.tune_split("dpr-ei", SplitId("generated-mini", of)) for of in ("dev", "topics")]
    assert tuned == [SplitId("generated-mini", split) for split in ("tune", "topics")]
    path = config / "datasets" / "generated-mini.yaml"
    path.write_text(path.read_text().replace("tune: topics}", "tune: topic}"))
    with pytest.raises(ResiduumError, match=r"splits\.topics\.tune: no split 'topic'"):
        load(config, scale="mini")


def test_what_has_a_role_is_the_same_on_every_collection():
    loaded = load(scale="mini")
    assert loaded.model_for("clear", "cacm") == "clear"
    assert loaded.train_split("clear") == SplitId("generated-mini", "train")
    assert loaded.tune_split("clear", SplitId("cacm", "test")) == SplitId("generated-mini", "tune")
    assert loaded.tune_split("bm25", SplitId("cacm", "test")) is None


def test_the_own_splits_of_a_dataset_are_splits_of_it(config):
    edit(config, "datasets/nfcorpus.yaml", own={"train": "tran"})
    with pytest.raises(ResiduumError, match=r"own.train: no split 'tran'; known: .*mean train\?"):
        load(config)


def test_a_learning_rate_is_tried_on_a_model_and_chosen_for_all_that_name_it():
    registry = load(scale="nfcorpus")
    ids = [f"bert-siamese@rate-{rate}" for rate in ("5e-06", "1e-05", "2e-05", "5e-05")]
    assert list(registry.trials) == ids and {*ids} < {*registry.model_ids()}
    trials = [registry.model(name).training for name in ids]
    assert [(how.rate, how.epochs) for how in trials] == [(r, 1) for r in (5e-6, 1e-5, 2e-5, 5e-5)]
    assert registry.model("bert-siamese").training.epochs == 2, "the trials alone are short"
    for name in ids:
        assert registry.tuples_of(name) == "clear"
        assert registry.train_split(name) == ("nfcorpus", "train")
        assert registry.learned_on(name) == ("nfcorpus", "dev"), "those who choose, not tune"
    assert {name for name in registry.models if "learning_rate" in registry.rules(name)} == {
        *("bert-siamese", "clear", "clear-random", "zero-shot"),
        *("dualrm", "dualrm-neural", "dualrm-random"),
    }
    assert registry.learned_on("clear") == ("nfcorpus", "tune")
    assert registry.learned_on("not-trained") is None, "it takes no step"
    assert registry.learned_on("reranker-base") == ("nfcorpus", "tune")


def test_an_edit_of_a_base_counts_in_the_next_load_of_a_process(config):
    assert load(config, scale="mini").models["not-trained"].loss.margin == 1.0
    edit(config, "models/bert-siamese.yaml", loss={"kind": "constant_margin", "margin": 2.0})
    assert load(config, scale="mini").models["not-trained"].loss.margin == 2.0


JUDGED = {"role": "msmarco-tune", "measure": "RR@10"}
CURVE = {"most": 400, "every": 100, "of": "bert-siamese", **JUDGED}


def with_curve(config, **changes):
    """Give the budget `triplet` of smoke a rule for its steps."""
    path = config / "scales" / "smoke.yaml"
    scale = yaml.safe_load(path.read_text())
    scale["learning"] = {"candidates": "bm25", "top": 100, "measure": "RR@10"}
    scale["budgets"]["triplet"]["training"] |= {"steps": {**CURVE}, **changes}
    path.write_text(yaml.safe_dump(scale))


def test_a_curve_of_one_model_chooses_the_steps_of_all_that_name_it(config):
    with_curve(config)
    registry = load(config, scale="smoke")
    assert list(registry.trials) == ["bert-siamese@steps-400"]
    assert "bert-siamese@steps-400" in registry.model_ids()
    trial = registry.model("bert-siamese@steps-400").training
    assert (trial.length, trial.snapshots) == (400, 4), "a model is kept every 100 steps"
    assert trial.rate == registry.model("clear").training.rate
    assert registry.tuples_of("bert-siamese@steps-400") == "clear"
    assert registry.learned_on("bert-siamese@steps-400") == ("generated-smoke", "tune")
    assert {*registry.rules("clear")} == {"steps"} and not registry.rules("deepct")
    assert not registry.rules("bert-siamese@steps-400"), "the curve has all its steps"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"steps": {**CURVE, "every": 300}}, "most: 400 must be two or more times every: 300"),
        ({"snapshots": 101}, "snapshots: 101 of 100 steps, the fewest that the rule can choose"),
        ({"decay": "linear"}, "the rate depends on the number of steps; take decay: constant"),
        ({"warmup": 0.1}, "the rate depends on the number of steps"),
        (
            {"learning_rate": {"grid": [1.0e-4, 1.0e-3], "of": "clear", **JUDGED}},
            "a rule, beside a rule for learning_rate; give one a number",
        ),
        ({"steps": {**CURVE, "of": "deepct"}}, "'deepct' ranks no candidates"),
        ({"steps": {**CURVE, "of": "siamese"}}, "no model 'siamese'"),
    ],
)
def test_a_curve_that_would_choose_nothing_is_refused(config, changes, fault):
    with_curve(config, **changes)
    with pytest.raises(ResiduumError, match=re.escape(fault)):
        load(config, scale="smoke")


def test_a_curve_is_drawn_of_a_training_whose_first_steps_are_a_training(config):
    path = config / "scales" / "smoke.yaml"
    with_curve(config)
    scale = yaml.safe_load(path.read_text())
    scale["budgets"]["triplet"]["training"] |= {"steps": 20, "decay": "linear"}
    scale["budgets"]["zero-shot"]["training"] = {"steps": CURVE, "decay": "constant"}
    path.write_text(yaml.safe_dump(scale))
    with pytest.raises(ResiduumError, match="'bert-siamese': the rate depends on the number of"):
        load(config, scale="smoke")


def test_a_rule_that_waits_for_another_rule_is_refused(config):
    path = config / "scales" / "smoke.yaml"
    with_curve(config)
    scale = yaml.safe_load(path.read_text())
    rates = {"grid": [1.0e-4, 1.0e-3], "of": "clear", **JUDGED}
    scale["budgets"]["zero-shot"]["training"] = {"learning_rate": rates, "steps": 20}
    path.write_text(yaml.safe_dump(scale))
    with pytest.raises(ResiduumError, match=r"training\.steps of 'clear' has another rule"):
        load(config, scale="smoke")


def test_the_curves_job_reads_once_for_its_start_and_each_point(config):
    with_curve(config)
    estimates = Estimates(load(config, scale="smoke"))
    names = "clear", "bert-siamese@steps-400"
    judged, curve = (estimates.held_out(SimpleNamespace(model=n)).operations for n in names)
    assert judged > 0 and curve == pytest.approx(judged / 2 * 5)


def test_a_released_encoder_and_a_role_of_its_name_are_two_rerankers(config):
    edit(config, "systems/clear-bert-large.yaml", reranker={"model": "bge-base"})
    edit(config, "systems/clear-bert-base.yaml", reranker="bge-base")
    path = config / "scales" / "mini.yaml"
    scale = yaml.safe_load(path.read_text())
    scale["rerankers"]["bge-base"] = {"model": "reranker-base"}
    path.write_text(yaml.safe_dump(scale))
    loaded = load(config, scale="mini")
    ids = [loaded.reranker(f"clear-bert-{size}") for size in ("large", "base")]
    assert ids == ["bge-base@seed0", "bge-base"]
    assert [loaded.reranker_binding(name).model for name in ids] == ["bge-base", "reranker-base"]


def test_at_small_scales_clears_systems_play_dualrms_on_its_pages_and_at_full_none_does():
    small, full = (load(scale=scale) for scale in ("mini", "full"))
    tables = [bind_table(at, "dualrm-table2", nothing_missing) for at in (small, full)]
    assert [table.runs["dualrm"] for table in tables] == [
        ["clear.seed1", "clear.seed2", "clear.seed3"],
        ["dualrm.seed1", "dualrm.seed2", "dualrm.seed3"],
    ]
    series = bound(small, "dualrm-figure2", nothing_missing).runs["dualrm"]
    assert series == [f"clear-bert-base.seed{seed}" for seed in (1, 2, 3)]
    lists = bound(small, "dualrm-table3", nothing_missing).runs
    assert lists["reranked"] == "clear-bert-large-deepest.seed1"
    assert small.tuples_of("zero-shot") == "clear" and full.tuples_of("zero-shot") == "dualrm"
    trained = {full.trained_for(name) for name in full.systems if name.startswith("dualrm")}
    assert trained - {None} == {"dualrm", "dualrm-neural", "dualrm-random"}


def test_full_scale_trains_dualrm_on_four_million_official_triples_once():
    loaded = load(scale="full")
    model = loaded.models["dualrm"]
    assert (model.negatives.triples.first, model.negatives.scores) == (4_000_000, "bm25")
    assert (model.training.epochs, model.training.batch_size) == (1, 28)
    random = loaded.models["dualrm-random"].training
    assert random.batch_size * random.steps == pytest.approx(4_000_000, abs=28), "as many examples"


def test_a_system_that_plays_one_must_exist(config):
    edit(config, "scales/mini.yaml", systems={"dualrm": "cleer", "dual": "clear"})
    with pytest.raises(ResiduumError) as error:
        load(config, scale="mini")
    assert "systems.dualrm: no system 'cleer'" in str(error.value)
    assert "no system 'dual'" in str(error.value)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("scales/mini.yaml", {"roles": {"wikipedia-sample": "ict-50/test"}}),
        ("models/mini-bert.yaml", {"corpora": ["ict-50-test"]}),  # whose tokenizer cuts it
    ],
)
def test_a_dataset_that_is_cut_from_itself_is_refused(config, name, changes):
    edit(config, name, **changes)
    with pytest.raises(ResiduumError, match="dataset would be made from itself: ict-50 -> ict-50"):
        load(config, scale="mini")


def test_docs_in_place_of_pins_are_those_of_every_edition_and_nothing_else_changes():
    pinned, larger = load(scale="full"), load(scale="full", docs={"msmarco-passage": 138_364_198})
    assert {edition.docs for edition in larger.datasets["msmarco-passage"].editions} == {
        138_364_198
    }
    assert larger.shards("msmarco-passage", "clear") == 277, "500,000 docs each"
    assert larger.datasets["msmarco-passage-raw"] == pinned.datasets["msmarco-passage-raw"]
    for name in ("train", "dev"):
        split = SplitId("msmarco-passage", name)
        assert sizes.queries(larger, split) == sizes.queries(pinned, split)
        assert sizes.pairs(larger, split) == sizes.pairs(pinned, split)


def test_docs_of_a_dataset_without_pins_are_given_too(config):
    edit(config, "datasets/nfcorpus.yaml", editions=[])
    given = load(config, scale="smoke", docs={"nfcorpus": 12_345})
    assert sizes.docs(given, "nfcorpus") == 12_345 != sizes.docs(load(config), "nfcorpus")


@pytest.mark.parametrize(("docs", "fault"), [
    ({"msmarco": 5}, "docs.*: no dataset 'msmarco'; known: .*msmarco-passage"),
    ({"nfcorpus": 0}, "docs.nfcorpus: .*greater than 0"),
    ({"nfcorpus": "many"}, "docs.nfcorpus: .*integer"),
])  # fmt: skip
def test_other_docs_are_refused(docs, fault):
    with pytest.raises(ResiduumError, match=f"config: {fault}"):
        load(scale="smoke", docs=docs)

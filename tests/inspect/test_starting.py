"""`residuum new`: a folder becomes entries that the configuration takes, or nothing is written."""

import json
import shutil
from itertools import islice
from pathlib import Path

import pytest
import torch
from sentence_transformers import MultiVectorEncoder, SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from typer.testing import CliRunner

import layouts
from conftest import ROOT
from corpora import make_corpus
from residuum.__main__ import app
from residuum.artefacts import yamls
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading
from residuum.config.registry import SplitId
from residuum.config.schema.datasets import Dataset
from residuum.inspect import starting
from residuum.neural import hub, release
from tiny_models import make_backbone


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Copy config/ into a folder, and work there."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / "data"))
    return tmp_path


def late(start):
    """Return a late-interaction model of sentence-transformers."""
    how = {"module_input_name": "token_embeddings"}
    text = Transformer(str(start), document_length=24)
    dense = Dense(16, 6, bias=False, activation_function=torch.nn.Identity(), **how)
    return MultiVectorEncoder(modules=[text, dense, MultiVectorMask(), Normalize(**how)])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with an encoder, a cross-encoder and a plain encoder."""
    folder = tmp_path_factory.mktemp("models")
    texts = make_corpus(folder / "texts", [(f"d{n}", f"word{n} doc") for n in range(30)])
    plain = make_backbone(folder / "plain", texts)
    encoder = SentenceTransformer(modules=[Transformer(str(plain)), Pooling(16)])
    encoder.save(str(folder / "tiny-encoder" / "model"))
    late(plain).save(str(folder / "late"))
    torch.manual_seed(1)
    cross = AutoModelForSequenceClassification.from_pretrained(plain, num_labels=1)
    cross.save_pretrained(folder / "cross")
    AutoTokenizer.from_pretrained(plain).save_pretrained(folder / "cross")
    return folder


def lay(project, **counts):
    """Lay a folder of BEIR with so many queries of each split, and a doc for each query."""
    total = sum(counts.values())
    ids = iter(range(total))
    qrels = {s: [(f"q{n}", f"d{n}", 1) for n in islice(ids, c)] for s, c in counts.items()}
    docs = [(f"d{n}", "", f"text of doc {n}") for n in range(total)]
    queries = [(f"q{n}", f"doc {n}") for n in range(total)]
    layouts.write_beir(project / "data" / "mine", docs, queries, qrels)
    return project / "data" / "mine"


def start(*models, paper=None, folder="data/mine"):
    return [*starting.start(Path("config"), Path(folder), models, paper)]


def files(project):
    """Return {path: bytes} of all files of the project's configuration."""
    paths = sorted(path for path in (project / "config").rglob("*") if path.is_file())
    return {str(path.relative_to(project)): path.read_bytes() for path in paths}


def entry(name):
    return yamls.read(Path("config") / name)


def registry(scale):
    base = entries.parse(Path("config/config.yaml"), dict[str, object])
    return loading.load(Path("config"), {**base, "scale": scale, "papers": [scale]})


def test_a_folder_and_a_model_become_entries_that_are_taken(project, models):
    lay(project, train=30, dev=20, test=12)
    before = files(project)
    lines = start(str(models / "tiny-encoder" / "model"))
    made = files(project).keys() - before.keys()
    assert {**files(project), **before} == files(project)
    assert sorted(made) == [
        "config/datasets/mine.yaml", "config/models/mine.yaml", "config/papers/mine/figure1.yaml",
        "config/papers/mine/figure2.yaml", "config/papers/mine/figure3.yaml",
        "config/papers/mine/table1.yaml", "config/scales/mine.yaml", "config/systems/mine.yaml",
    ]  # fmt: skip
    assert all(f"wrote {path}" in lines for path in made)
    assert "    snakemake --cores all --config scale=mine papers=[mine]" in lines
    loaded = registry("mine")
    page = loaded.pages["mine-table1"]
    assert [row.system for row in page.rows] == [
        "bm25-default", "bm25-default-rm3", "tiny-encoder", "mine-tiny-encoder-sum",
        "mine-tiny-encoder-rrf",
    ]  # fmt: skip
    assert [column.role for column in page.columns] == ["mine-test"] * 2
    for figure in ("mine-figure1", "mine-figure2"):
        assert [one.system for one in loaded.pages[figure].series] == [
            "bm25-default", "tiny-encoder", "mine-tiny-encoder-rrf",
        ]  # fmt: skip
    (circles,) = loaded.pages["mine-figure3"].rows
    assert (circles.dense, circles.lexical) == ("tiny-encoder", "bm25-default")
    assert {"R@1", "R@100", "R@1000", "Success@10"} <= {*loaded.measures(SplitId("mine", "test"))}
    assert loaded.systems["mine-tiny-encoder-sum"].interpolation.tune_on == "own"
    dataset = entries.parse(Path("config/datasets/mine.yaml"), Dataset)
    assert dataset.own.train == "train" and dataset.own.tune == "dev"
    (pinned,) = dataset.editions
    assert (pinned.docs, pinned.splits["train"].qrels) == (62, 30)
    for name in made:
        schema = Path(name).read_text().partition("$schema=")[2].partition("\n")[0]
        assert (Path(name).parent / schema).is_file()


def test_without_queries_to_tune_on_a_weight_is_chosen_by_folds(project, models):
    lay(project, test=12)
    start(str(models / "tiny-encoder" / "model"))
    chosen = registry("mine").systems["mine-tiny-encoder-sum"].interpolation
    assert (chosen.tune_on, chosen.folds, chosen.seed) == (None, 5, 1)


def test_too_few_queries_leave_the_weighted_sum_out(project, models):
    lay(project, test=9)
    start(str(models / "tiny-encoder" / "model"))
    rows = [row.system for row in registry("mine").pages["mine-table1"].rows]
    assert rows == ["bm25-default", "bm25-default-rm3", "tiny-encoder", "mine-tiny-encoder-rrf"]


@pytest.mark.parametrize(("queries", "drawn"), [(200, True), (199, False)])
def test_a_tuning_split_is_drawn_from_many_training_queries(project, queries, drawn):
    lay(project, train=queries, test=12)
    start()
    dataset = entries.parse(Path("config/datasets/mine.yaml"), Dataset)
    assert (dataset.own.tune == "tune") is drawn and ("tune" in dataset.splits) is drawn
    rows = {row.system for row in registry("mine").pages["mine-table1"].rows}
    assert ({"dpr-embedding", "dpr-ei"} <= rows) is drawn
    assert rows == {one.system for one in registry("mine").pages["mine-figure1"].series}
    circles = registry("mine").pages.get("mine-figure3")
    assert ([one.dense for one in circles.rows] if circles else []) == ["dpr-embedding"] * drawn
    assert entry("scales/mine.yaml")["base"] == ("mini" if drawn else "laptop")


def test_a_single_split_is_measured_and_nothing_is_chosen_on_it(project, models):
    lay(project, dev=20)
    start(str(models / "tiny-encoder" / "model"))
    loaded = registry("mine")
    assert [column.role for column in loaded.pages["mine-table1"].columns] == ["mine-dev"] * 2
    assert loaded.systems["mine-tiny-encoder-sum"].interpolation.folds == 5


def overlapping(project, **queries):
    """Lay a folder of BEIR with these queries of each split, by number; return what was lines."""
    qrels = {split: [(f"q{n}", f"d{n}", 1) for n in some] for split, some in queries.items()}
    numbers = sorted({n for some in queries.values() for n in some})
    docs = [(f"d{n}", "", f"text of doc {n}") for n in numbers]
    texts = [(f"q{n}", f"doc {n}") for n in numbers]
    layouts.write_beir(project / "data" / "mine", docs, texts, qrels)
    return start()


def test_nothing_is_chosen_on_queries_that_are_measured(project):
    lines = overlapping(project, dev=range(40), **{"dev-small": range(30, 40)})
    assert "dev and dev-small share queries, so that nothing is chosen on dev" in lines
    dataset = entries.parse(Path("config/datasets/mine.yaml"), Dataset)
    assert {column.role for column in registry("mine").pages["mine-table1"].columns} == {
        "mine-dev-small"
    }
    assert dataset.own.train is None and "tune: none" in lines[2]


def test_training_queries_that_are_measured_are_told(project):
    lines = overlapping(project, train=range(250), test=range(240, 260))
    assert "warning: train and test share queries: what is trained has seen them" in lines
    dataset = entries.parse(Path("config/datasets/mine.yaml"), Dataset)
    assert "tune" not in dataset.splits


def test_other_names_of_splits_have_their_roles(project):
    lines = overlapping(project, training=range(50), val=range(50, 80), test=range(80, 92))
    assert "train: training; tune: val; measured: test" in lines
    dataset = entries.parse(Path("config/datasets/mine.yaml"), Dataset)
    assert (dataset.own.train, dataset.own.tune) == ("training", "val")
    assert not dataset.splits["training"].measures


def test_names_that_yaml_reads_as_numbers_are_texts(project, models):
    """Of a split, as TREC's years, and of a model's folder."""
    overlapping(project, **{"2019": range(12), "1e3": range(12, 24)})
    assert [*entry("datasets/mine.yaml")["splits"]] == ["1e3", "2019"]
    shutil.rmtree(project / "config" / "papers" / "mine")
    for kind in ("datasets", "scales"):
        (project / "config" / kind / "mine.yaml").unlink()
    shutil.copytree(models / "tiny-encoder" / "model", project / "123")
    start("123")
    assert [*entry("models/mine.yaml")["entries"]] == ["mine-123"]


def test_what_is_read_is_shown(project):
    lines = overlapping(project, test=range(12))
    assert "text of docs: title + text, as 'text of doc 0'" in lines
    assert "text of queries: text, as 'doc 0'" in lines


def test_a_link_keeps_its_name_and_place(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("real") / "theirs"
    lay(project, test=12).rename(elsewhere)
    (project / "data" / "linked").symlink_to(elsewhere)
    start(folder="data/linked")
    assert entry("datasets/linked.yaml")["source"] == {"kind": "beir", "folder": "linked"}


@pytest.mark.parametrize("name", ["123", "true", "null", "2024-01-01", ""])
def test_a_name_that_yaml_reads_as_another_value_is_refused(project, name):
    lay(project, test=12)
    with pytest.raises(ResiduumError, match="and is no number, date or other value of YAML"):
        start(paper=name)


def test_one_model_is_one_however_it_is_named(project, models):
    lay(project, test=12)
    folder = models / "tiny-encoder" / "model"
    start(str(folder), f"{folder}/", str(folder / ".." / "model"))
    assert len(entry("models/mine.yaml")["entries"]) == 1


def test_several_measured_splits_have_columns_that_name_them(project):
    lay(project, topics=10, test=10)
    start()
    headers = [column.header for column in registry("mine").pages["mine-table1"].columns]
    assert headers == ["test nDCG@10", "test R@100", "topics nDCG@10", "topics R@100"]


def test_a_cross_encoder_reranks(project, models):
    lay(project, test=12)
    start(str(models / "cross"))
    system = registry("mine").systems["mine-cross"]
    assert system.kind == "rerank" and system.reranker.path == str(models / "cross")
    assert system.depth.value == 50
    assert not Path("config/models/mine.yaml").exists()
    series = [one.system for one in registry("mine").pages["mine-figure1"].series]
    assert series == ["bm25-default"], "a reranker finds no doc that BM25 does not"
    series = [one.system for one in registry("mine").pages["mine-figure2"].series]
    assert series == ["bm25-default", "mine-cross"]
    assert not Path("config/papers/mine/figure3.yaml").exists(), "no circles without a dense part"


def test_each_model_with_vectors_has_circles(project, models):
    lay(project, test=12)
    start(*(str(models / name) for name in ("tiny-encoder/model", "cross", "late")))
    circles = registry("mine").pages["mine-figure3"].rows
    assert [one.dense for one in circles] == ["tiny-encoder", "late"]


def test_models_of_one_name_have_ids_of_their_own(project, models, tmp_path_factory):
    lay(project, test=12)
    others = [tmp_path_factory.mktemp(f"other{n}") / "bm25" for n in range(3)]  # a system, too
    for other in others:
        shutil.copytree(models / "tiny-encoder" / "model", other)
    start(*map(str, others))
    made = entry("models/mine.yaml")["entries"]
    assert [*made] == ["mine-bm25", "mine-bm25-2", "mine-bm25-3"]
    assert [one["path"] for one in made.values()] == [*map(str, others)]
    assert len({row.system for row in registry("mine").pages["mine-table1"].rows}) == 2 + 3 * 3


def test_an_encoder_of_tokens_says_so(project, models):
    lay(project, test=12)
    start(str(models / "late"))
    assert entry("models/mine.yaml")["entries"]["late"]["pooling"] == "tokens"
    assert registry("mine").models["late"].late


def test_entries_of_the_configuration_are_used_by_id_or_hub_id(project):
    lay(project, test=12, dev=20, train=20)
    start("BAAI/bge-base-en-v1.5", "clear", paper="both")
    rows = [row.system for row in registry("both").pages["both-table1"].rows]
    assert {"bge-base", "both-bge-base-rrf", "clear-embedding", "both-clear-sum"} <= {*rows}
    assert not Path("config/models/both.yaml").exists()
    assert entry("scales/both.yaml")["base"] == "mini"


def test_a_model_of_the_hub_is_pinned_to_the_commit_of_today(project, monkeypatch, models):
    lay(project, test=12)
    folder = models / "tiny-encoder" / "model"
    monkeypatch.setattr(hub, "missing", lambda *_, **__: None)
    monkeypatch.setattr(hub, "commit", lambda *_: "c0ffee")
    monkeypatch.setattr(hub, "had", lambda _, __, name: folder / name)
    looked: list[object] = []
    monkeypatch.setattr(release, "read", lambda source, _: looked.append(source[:2]))
    start("someone/Their-Model")
    (made,) = entry("models/mine.yaml")["entries"].items()
    keys = {"kind": "released-encoder", "description": "Their-Model"}
    keys |= {"hub": "someone/Their-Model", "revision": "c0ffee"}
    assert made == ("their-model", keys) and looked == [("someone/Their-Model", "c0ffee")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("gone", "--model gone: no such folder, no entry of config/models and no id of the hub"),
        ("./gone", "no such folder"),
        ("a/b/c", "no such folder"),
        ("deepct", "--model deepct: a model of kind term-weights, which makes no vectors of docs"),
        ("someone/absent", "--model someone/absent: the hub does not give it. Its files say what"),
        ("", "--model : no such folder"),
        ("data/mine", "--model data/mine: no model: a folder without config.json"),
        ("dpr", "--model dpr: it is trained on the collection; the folder has no split train"),
    ],
)
def test_a_model_that_is_none_is_refused(project, monkeypatch, given, message):
    lay(project, test=12)
    before = files(project)
    monkeypatch.setattr(hub, "missing", lambda *_, **__: "the hub does not give it")
    with pytest.raises(ResiduumError) as caught:
        start(given)
    assert message in str(caught.value) and files(project) == before


def test_a_folder_that_does_not_say_how_it_is_read_is_refused(project, models):
    lay(project, test=12)
    with pytest.raises(ResiduumError) as caught:
        start(str(models / "plain"))
    text = str(caught.value)
    assert "Give pooling and similarity" in text and "and name its id: --model ID" in text


@pytest.mark.parametrize(
    "taken", ["datasets/mine.yaml", "systems/mine.yaml", "scales/mine.yaml", "papers/mine/x.yaml"]
)
def test_what_exists_is_not_replaced(project, taken):
    lay(project, test=12)
    path = project / "config" / taken
    path.parent.mkdir(exist_ok=True)
    path.write_text("# mine\n")
    before = files(project)
    with pytest.raises(ResiduumError, match=r"exists already.*--paper NAME"):
        start()
    assert files(project) == before


def test_a_fault_of_the_data_leaves_nothing(project):
    folder = lay(project, test=12)
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "one"}\nno JSON\n')
    before = files(project)
    with pytest.raises(ResiduumError) as caught:
        start()
    text = str(caught.value)
    assert "corpus.jsonl, line 2: not JSON" in text and text.endswith("Nothing was written.")
    assert files(project) == before


def test_a_fault_of_the_configuration_is_of_its_own_file(project):
    lay(project, test=12)
    (project / "config" / "systems" / "odd.yaml").write_text("kind: odd\n")
    before = files(project)
    with pytest.raises(ResiduumError) as caught:
        start()
    assert "config/systems/odd.yaml:1" in str(caught.value)
    assert "residuum-" not in str(caught.value) and files(project) == before


def test_a_failure_while_files_are_put_leaves_none(project, monkeypatch):
    lay(project, test=12)
    before, whole = files(project), starting.files.whole

    def failing(path):
        if path.name == "table1.yaml":
            raise OSError(28, "No space left on device", str(path))
        return whole(path)

    monkeypatch.setattr(starting.files, "whole", failing)
    with pytest.raises(OSError, match="No space"):
        start()
    assert files(project) == before and not (project / "config" / "papers" / "mine").exists()


def test_a_folder_elsewhere_is_named_from_the_top(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    lay(project, test=12)
    (project / "data" / "mine").rename(elsewhere / "My Docs")
    start(folder=str(elsewhere / "My Docs"))
    assert entry("datasets/my-docs.yaml")["source"]["folder"] == str(elsewhere / "My Docs")


def test_the_command_prints_what_it_does_and_one_line_for_a_fault(project):
    lay(project, test=12)
    done = CliRunner().invoke(app, ["new", "data/mine", "--paper", "fresh"])
    assert done.exit_code == 0, done.output
    assert "data/mine: BEIR's layout; splits: test" in done.output
    assert "results/fresh/tables/fresh-table1.md" in done.output
    again = CliRunner().invoke(app, ["new", "data/mine", "--paper", "Not An Id"])
    assert isinstance(again.exception, ResiduumError)
    assert json.dumps(str(again.exception)).startswith("\"--paper 'Not An Id': a name has small")

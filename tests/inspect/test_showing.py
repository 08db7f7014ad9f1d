"""`residuum show`: what an entry comes to, the line of each value, and who names the entry.

The files of a small configuration stand here, so that their lines can be counted by eye; then
every entry of config/ is compared with the registry and, key by key, with the files' text.
"""

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from conftest import ROOT
from corpora import make_corpus
from residuum.__main__ import app
from residuum.artefacts import yamls
from residuum.cli.errors import ResiduumError
from residuum.config import loading
from residuum.config.keys import classes
from residuum.config.schema.models import ReleasedEncoder
from residuum.inspect import showing
from tiny_models import make_backbone, toy_docs

FILES = {
    "config.yaml": """\
scale: small
papers: [paper]
encoder: null
""",
    "scales/small.yaml": """\
description: small
comparable: false
reason: it is small
seeds: [1, 2]
roles: {dev: mine/dev, train: mine/train, tune: mine/tune}
backbones:
  start: {hub: org/start, revision: abc}
  wide:
    datasets:
      mine: {hub: org/mine, revision: abc}
    otherwise: {hub: org/wide, revision: abc}
rerankers:
  judge: {hub: org/judge, revision: abc, reading: {}}
systems: {theirs: bm25}
left_out: [slow]
editions:
  mine:
    - {name: small, docs: 10}
budgets:
  short:
    training: {steps: 20, epochs: null}
  shallow:
    negatives: {pools: {errors: {top: 5}}}
    training: {steps: 30}
  other-loss:
    loss: {kind: nll}
  shared:
    negatives: {same_as: first}
  tried:
    training:
      learning_rate: {grid: [0.1, 0.2], of: first, role: dev, measure: RR@10}
learning: {candidates: bm25, top: 5, measure: RR@10}
threads: 1
shard_docs: 100
batch_size: 8
pair_batch_size: 8
""",
    "scales/large.yaml": """\
base: small
description: large
roles: {dev: mine/tune}
editions: null
systems: null
budgets:
  other-loss: null
  shallow:
    training: {steps: 40, batch_size: null}
""",
    "datasets/mine.yaml": """\
source: {kind: files, corpus: mine/docs.jsonl}
splits:
  train: {queries: mine/train.tsv, qrels: mine/train.txt}
  tune: {queries: mine/tune.tsv, qrels: mine/tune.txt}
  dev:
    queries: mine/dev.tsv
    qrels: mine/dev.txt
    measures: [RR@10]
editions:
  - {name: all, docs: 1000}
""",
    "datasets/unpinned.yaml": """\
base: mine
editions: null
""",
    "datasets/folder.yaml": """\
source: {kind: beir, folder: folder}
splits:
  test:
""",
    "models/first.yaml": """\
kind: dual-encoder
description: the first
backbone: start
train_on: train
negatives:
  pools: {errors: {kind: hits, system: bm25, top: 50}}
  scores: bm25
  per_pair: 2
loss: {kind: constant_margin, margin: 2.0}
encoder: {pooling: cls, query_length: 8, doc_length: 16}
training: {learning_rate: 0.1, batch_size: 4, epochs: 3}
budgets: [short, shallow]
""",
    "models/second.yaml": """\
base: first
encoder: {doc_length: 32}
negatives: {same_as: first}
budgets: [tried]
""",
    "models/third.yaml": """\
base: first
description: null
seeds: [7]
budgets: [other-loss, shared]
""",
    "models/own.yaml": """\
base: first
backbone: wide
train_on: own
budgets: []
""",
    "systems/bm25.yaml": """\
kind: lexical
label: BM25
analysis: {language: en, stemmer: porter, stopwords: lucene}
bm25: {k1: 0.9, b: 0.4}
k: 100
""",
    "systems/several.yaml": """\
entries:
  dense: {kind: dense, model: first, k: 100}
  slow:
    base: dense
    model: second
""",
    "systems/theirs.yaml": """\
kind: external
source: theirs
runs: {dev: theirs/run.txt}
""",
    "systems/sum.yaml": """\
kind: fusion
parts: [bm25, slow]
unretrieved: minimum
interpolation: {weighted: bm25, grid: [0.0, 1.0], tune_on: own, measure: RR@10}
k: 100
""",
    "systems/reranked.yaml": """\
kind: rerank
first_stage: bm25
reranker: judge
depth: {value: 10}
""",
    "tests/plain.yaml": "{test: t-test, alpha: 0.05, correction: none, family: column}\n",
    "papers/paper/table1.yaml": """\
kind: table
title: A table
printed_in: Table 1
columns:
  - {id: rr, role: dev, measure: RR@10, header: RR}
  - {id: far, role: elsewhere, measure: RR@10, header: RR}
rows:
  - {id: a, label: A, system: theirs}
  - {id: b, label: B, system: slow}
tests: plain
tolerance: {default: 0.01}
reported: {a: {rr: "0.5"}}
""",
    "scales/other.yaml": """\
base: small
roles: {elsewhere: mine/dev}
""",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the folder of the small configuration."""
    folder = tmp_path_factory.mktemp("small") / "config"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def page(small, monkeypatch):
    """Return a function that gives an entry's values: key: (value, what it comes from)."""
    monkeypatch.chdir(small.parent)

    def values(kind, name, scale="small", *settings):
        registry = loading.load(Path("config"), showing.chosen(Path("config"), scale, settings))
        lines = list(showing.Shown(registry).values(kind, name))
        assert len({line.key for line in lines}) == len(lines), "a key is shown once"
        return {line.key.strip(): (line.value, line.origin) for line in lines}

    return values


def shown(*arguments):
    """Return what the command line prints, without a fault."""
    done = CliRunner().invoke(app, ["show", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments):
    """Return the message of the ResiduumError that a command line raises."""
    done = CliRunner().invoke(app, ["show", *arguments])
    assert isinstance(done.exception, ResiduumError), done.output
    return str(done.exception)


FIRST = "config/models/first.yaml"
SMALL, LARGE = "config/scales/small.yaml", "config/scales/large.yaml"


def test_values_come_from_the_file_from_budgets_in_their_order_and_from_defaults(page):
    first = page("model", "first")
    assert first["loss.margin"] == ("2.0", f"{FIRST}:9")
    assert first["negatives.per_pair"] == ("2", f"{FIRST}:8")
    assert first["negatives.pools.errors.top"] == ("5", f"budget shallow ({SMALL}:23)")
    assert first["training.steps"] == ("30", f"budget shallow ({SMALL}:24)"), "not short's 20"
    assert first["training.epochs"] == ("null", f"default; null in budget short ({SMALL}:21)")
    assert first["training.batch_size"] == ("4", f"{FIRST}:11")
    assert first["training.warmup"] == ("0.0", "default")
    assert first["encoder.pooling.kind"] == ("cls", f"{FIRST}:10"), "of `pooling: cls`"
    assert first["negatives.same_as"] == ("null", "default")


def test_what_names_stand_for_at_the_scale_follows_them(page):
    first = page("model", "first")
    assert first["start"] == ("{hub: org/start, revision: abc}", f"{SMALL}:7")
    assert first["train"] == ("mine/train", f"{SMALL}:5")
    assert first["seeds"] == ("null", "default")
    assert first["seeds of small"] == ("[1, 2]", f"{SMALL}:4")
    assert first["short"] == ("laid over this", f"{SMALL}:20")
    reranked = page("system", "reranked")
    assert reranked["judge"] == ("{hub: org/judge, revision: abc, reading: {}}", f"{SMALL}:13")
    table = page("page", "paper/table1")
    assert table["theirs"] == ("played by bm25", f"{SMALL}:14")
    assert table["slow"] == ("left out", f"{SMALL}:15")
    assert table["elsewhere"] == ("not bound", "")
    assert table["columns.rr.role"] == ("dev", "config/papers/paper/table1.yaml:5")
    assert table["reported.a.rr"] == ("'0.5'", "config/papers/paper/table1.yaml:12"), "a text"
    assert page("system", "sum")["slow"] == ("left out", f"{SMALL}:15")


def test_a_base_a_null_and_another_model_to_share_with(page):
    second = page("model", "second")
    assert second["encoder.query_length"] == ("8", f"base first ({FIRST}:10)")
    assert second["encoder.doc_length"] == ("32", "config/models/second.yaml:2")
    assert second["description"] == ("the first", f"base first ({FIRST}:2)")
    assert second["negatives.same_as"] == ("first", "config/models/second.yaml:3")
    assert second["negatives.pools"] == ("{}", "default"), "same_as replaces all beside it"
    assert second["negatives.scores"] == ("null", "default")
    assert second["first: pools.errors.top"] == ("5", f"budget shallow ({SMALL}:23)")
    assert second["first: per_pair"] == ("2", f"{FIRST}:8")


def test_a_budget_with_another_kind_replaces_all_and_a_null_removes_a_key(page):
    third = page("model", "third")
    assert third["loss.kind"] == ("nll", f"budget other-loss ({SMALL}:26)")
    assert "loss.margin" not in third
    assert third["negatives.same_as"] == ("first", f"budget shared ({SMALL}:28)")
    assert third["description"] == ("''", "default; null in config/models/third.yaml:2")
    assert third["training.epochs"] == ("3.0", f"base first ({FIRST}:11)"), "short is not named"
    assert third["seeds"] == ("[7]", "config/models/third.yaml:3")
    assert "seeds of small" not in third


def test_of_several_entries_in_a_file_each_has_its_lines(page):
    slow = page("system", "slow")
    assert slow["model"] == ("second", "config/systems/several.yaml:5")
    assert slow["k"] == ("100", "base dense (config/systems/several.yaml:2)")
    assert shown("system", "slow").startswith(
        "system slow at scale small: config/systems/several.yaml\n"
    )


def test_a_grid_of_rates_and_the_trainings_that_try_it(page):
    second = page("model", "second")
    at = f"budget tried ({SMALL}:31)"
    assert second["training.learning_rate.grid"] == ("[0.1, 0.2]", at)
    assert second["training.learning_rate.of"] == ("first", at)
    assert second["tried by"][0] == "[first@rate-0.1, first@rate-0.2]"
    assert second["dev"] == ("mine/dev", f"{SMALL}:5")
    tried = page("model", "first@rate-0.2")
    assert tried["training.learning_rate"] == (
        "0.2",
        f"rule of second for training.learning_rate ({SMALL}:31)",
    )
    assert tried["training.steps"] == ("30", f"budget shallow ({SMALL}:24)")


def test_a_scale_over_another_changes_what_its_budgets_come_to(page):
    first = page("model", "first", "large")
    assert first["training.steps"] == ("40", f"budget shallow ({LARGE}:9)")
    assert first["negatives.pools.errors.top"] == ("5", f"budget shallow ({SMALL}:23)")
    assert first["training.epochs"] == ("null", f"default; null in budget short ({SMALL}:21)")
    assert first["training.batch_size"] == ("4", f"{FIRST}:11"), "large's null is of small's budget"
    third = page("model", "third", "large")
    assert third["other-loss"] == ("none in scale large", f"null in {LARGE}:7")
    assert third["loss.margin"] == ("2.0", f"base first ({FIRST}:9)")
    large = page("scale", "large", "large")
    assert large["description"] == ("large", f"{LARGE}:2")
    assert large["roles.dev"] == ("mine/tune", f"{LARGE}:3")
    assert large["roles.train"] == ("mine/train", f"base small ({SMALL}:5)")
    assert large["editions"] == ("{}", f"default; null in {LARGE}:4")
    assert "theirs" not in page("page", "paper/table1", "large"), "played by itself"


def test_editions_are_the_files_the_scales_or_those_of_docs(page):
    mine = "config/datasets/mine.yaml"
    at_small = page("dataset", "mine")
    assert at_small["editions.0.docs"] == ("10", f"editions of scale small ({SMALL}:18)")
    assert at_small["own.tune"] == ("tune", "default"), "completed from the splits' names"
    assert at_small["splits.dev.measures"] == ("[RR@10]", f"{mine}:8")
    at_large = page("dataset", "mine", "large")
    assert at_large["editions.0.docs"] == ("1000", f"{mine}:10")
    docs = "docs={mine: 5, unpinned: 6}"
    planned = page("dataset", "mine", "large", docs)
    assert planned["editions.0.docs"] == ("5", "--set docs")
    assert planned["editions.0.name"] == ("all", f"{mine}:10")
    unpinned = page("dataset", "unpinned", "large", docs)
    assert unpinned["editions.0.docs"] == ("6", "--set docs")
    assert unpinned["editions.0.name"] == ("planned", "--set docs")
    assert unpinned["source.corpus"] == ("mine/docs.jsonl", f"base mine ({mine}:1)")
    without = page("dataset", "unpinned", "large")
    assert without["editions"] == ("[]", "default; null in config/datasets/unpinned.yaml:2")


def test_what_stands_below_a_key_without_a_value_is_a_default(page):
    folder = page("dataset", "folder")
    assert folder["splits.test.measures"] == ("[nDCG@10, R@100]", "default")
    assert folder["splits.test.positive_level"] == ("1", "default")


def test_own_is_the_split_of_the_collection_and_a_backbone_may_depend_on_it(page):
    own = page("model", "own")
    assert own["own of mine"] == ("mine/train", "default")
    assert own["wide"] == (
        "{datasets: {mine: {hub: org/mine, revision: abc}}, "
        "otherwise: {hub: org/wide, revision: abc}}",
        f"{SMALL}:8",
    )
    of_mine = page("model", "own@mine.train")
    assert of_mine["wide"] == ("{hub: org/mine, revision: abc}", f"{SMALL}:10")
    assert page("system", "sum")["own of mine"] == ("mine/tune", "default")


def test_config_yaml_and_what_takes_its_place(page):
    plain = page("config", "config")
    assert plain["papers"] == ("[paper]", "config/config.yaml:2")
    assert plain["scale"] == ("small", "--scale")
    assert plain["encoder"] == ("null", "config/config.yaml:3")
    assert plain["gpus"] == ("1", "default")
    encoder = ("{hub: org/mine-own, revision: main}", "--set encoder")
    changed = ("small", "encoder=org/mine-own", "seeds=[4]")
    assert page("model", "first", *changed)["start"] == encoder
    assert page("model", "first", *changed)["seeds of config"] == ("[4]", "--set seeds")
    assert page("model", "third", *changed)["seeds of config"] == ("[4]", "--set seeds")
    wide = page("backbone", "wide", *changed)
    assert wide["backbones.wide.datasets.mine.hub"] == ("org/mine-own", "--set encoder")
    assert wide["backbones.wide.otherwise.revision"] == ("main", "--set encoder")


def test_a_role_and_a_budget_are_shown_as_the_scale_has_them(page):
    assert page("role", "dev") == {"roles.dev": ("mine/dev", f"{SMALL}:5")}
    assert page("role", "dev", "large") == {"roles.dev": ("mine/tune", f"{LARGE}:3")}
    assert page("budget", "short") == {
        "budgets.short.training.steps": ("20", f"{SMALL}:21"),
        "budgets.short.training.epochs": ("null", f"{SMALL}:21"),
    }
    assert page("budget", "other-loss", "large") == {}


def named_by(*arguments):
    """Return the lines below `Named by:`, each as who, key and origin."""
    text = shown(*arguments).partition("Named by:\n")[2]
    return [re.split(r"  +", line.strip()) for line in text.splitlines()]


def test_who_names_an_entry_and_which_scales_bind_or_leave_it_out(small, monkeypatch):
    monkeypatch.chdir(small.parent)
    assert named_by("system", "slow") == [
        ["scale large", "left_out", f"base small ({SMALL}:15)"],
        ["scale other", "left_out", f"base small ({SMALL}:15)"],
        ["scale small", "left_out", f"{SMALL}:15"],
        ["system sum", "parts", "config/systems/sum.yaml:2"],
        ["page paper/table1", "rows.b.system", "config/papers/paper/table1.yaml:9"],
    ]
    bm25 = named_by("system", "bm25")
    assert ["scale small", "learning.candidates", f"{SMALL}:32"] in bm25
    assert ["scale small", "systems.theirs", f"{SMALL}:14"] in bm25
    assert ["model own", "negatives.scores", f"base first ({FIRST}:7)"] in bm25
    assert ["model third", "negatives.scores", f"base first ({FIRST}:7)"] not in bm25
    row = "rows.a.system (plays theirs at scale small)"
    assert ["page paper/table1", row, f"{SMALL}:14"] in bm25
    assert ["page paper/table1", row, f"{SMALL}:14"] not in named_by(
        "system", "bm25", "--scale", "large"
    )
    assert named_by("model", "first") == [
        ["model second", "negatives.same_as", "config/models/second.yaml:3"],
        ["model second", "training.learning_rate.of", f"budget tried ({SMALL}:31)"],
        ["model third", "negatives.same_as", f"budget shared ({SMALL}:28)"],
        ["system dense", "model", "config/systems/several.yaml:2"],
    ]
    assert named_by("model", "second") == [
        ["system slow", "model (left out at scale small)", "config/systems/several.yaml:5"]
    ]
    assert ["scale large", "roles.dev", f"{LARGE}:3"] in named_by("dataset", "mine")
    assert named_by("role", "elsewhere") == [
        ["scale other", "roles.elsewhere: mine/dev", "config/scales/other.yaml:2"],
        ["page paper/table1", "columns.far.role", "config/papers/paper/table1.yaml:6"],
    ]
    assert named_by("budget", "other-loss") == [
        ["scale other", "budgets.other-loss", f"base small ({SMALL}:25)"],
        ["scale small", "budgets.other-loss", f"{SMALL}:25"],
        ["model third", "budgets", "config/models/third.yaml:4"],
    ]
    assert named_by("tests", "plain") == [
        ["page paper/table1", "tests", "config/papers/paper/table1.yaml:10"]
    ]


def not_run(*arguments):
    text = shown(*arguments).partition("Not run at scale ")[2]
    return [line.removeprefix("- ") for line in text.partition("\n\n")[0].splitlines()[1:]]


def test_what_a_scale_does_not_run_says_why(small, monkeypatch):
    monkeypatch.chdir(small.parent)
    monkeypatch.setenv("RESIDUUM_DATA", str(small.parent / "data"))
    assert not_run("system", "slow")[0].startswith("scale small leaves slow out (left_out)")
    assert "scale small binds nothing to elsewhere (paper/table1/b)" in not_run("system", "slow")
    assert not_run("role", "elsewhere") == ["scale small binds nothing to elsewhere"]
    assert not_run("budget", "other-loss", "--scale", "large") == [
        f"scale large has no budget other-loss: null in {LARGE}:7"
    ]
    table = not_run("page", "paper/table1")
    assert "scale small binds nothing to elsewhere (a, b)" in table
    lost = [line for line in not_run("dataset", "mine") if line.startswith("no such file: ")]
    assert lost and "mine/docs.jsonl" in lost[0]
    assert not_run("model", "first")[0].startswith("no such file: "), "its pairs"
    assert not_run("tests", "plain") == []


def test_without_an_id_all_of_a_kind_are_listed_with_what_they_are(small, monkeypatch):
    monkeypatch.chdir(small.parent)
    assert shown("system").splitlines()[0] == "bm25      BM25"
    assert shown("model").splitlines()[0] == "first   the first"
    assert shown("page") == "paper/table1  A table\n"
    assert "elsewhere  scale small binds nothing to elsewhere" in shown("role").splitlines()
    assert "dev        mine/tune" in shown("role", "--scale", "large").splitlines()
    assert "short       laid over model first" in shown("budget").splitlines()


def test_what_is_not_known_is_told_with_what_is(small, monkeypatch):
    monkeypatch.chdir(small.parent)
    text = refused("modle", "first")
    assert text.startswith("no kind of entry 'modle'; known: backbone, budget, config, ")
    assert text.endswith("Did you mean model?")
    assert refused("model", "frist") == (
        "no model 'frist'; known: first, own, second, third. Did you mean first? "
        "To add one: config/models/frist.yaml"
    )
    assert refused("model", "bm25").endswith("Of another kind: residuum show system bm25.")
    assert refused("role", "devv").endswith(f"To add one: roles of {SMALL}")
    assert "no scale 'smal'" in refused("model", "first", "--scale", "smal")
    assert refused("config", "--set", "seeds") == (
        "--set seeds: write KEY=VALUE, with a key of config/config.yaml"
    )
    assert "config: sedes: unknown key" in refused("config", "--set", "sedes=[1]")
    assert refused("model", "first", "--config", "elsewhere").startswith(
        "no elsewhere/config.yaml in "
    )


def test_values_are_yaml_and_columns_are_aligned(small, monkeypatch):
    monkeypatch.chdir(small.parent)
    head, values, *_ = shown("model", "first").split("\n\n")
    assert head == "model first at scale small: config/models/first.yaml"
    rows = [re.split(r"  +", line.strip()) for line in values.splitlines()]
    held = {key: yaml.safe_load(value) for key, value, *_ in rows}
    assert len(held) == len(rows) > 40
    assert held["training.epochs"] is None and held["loss.margin"] == 2.0
    assert held["start"] == {"hub": "org/start", "revision": "abc"} and held["budgets"] == [
        "short", "shallow"
    ]  # fmt: skip
    lines = values.splitlines()
    starts = {line.index(row[1], len(row[0])) for line, row in zip(lines, rows, strict=True)}
    ends = {line.rindex(row[2]) for line, row in zip(lines, rows, strict=True) if row[2:]}
    assert len(starts) == len(ends) == 1, "one column of values, one of origins"


# Every entry of config/, at every scale: what is shown, against the registry and the files' text.
BASE = ROOT / "config" / "config.yaml"
SCALES = sorted(path.stem for path in (ROOT / "config" / "scales").glob("*.yaml"))


@pytest.fixture(scope="module", params=SCALES)
def real(request):
    """Return all entries of config/ at a scale."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        chosen = showing.chosen(Path("config"), request.param, [])
        return showing.Shown(loading.load(Path("config"), chosen))


def flat(value, key=""):
    """Yield key and value of nested settings; items of a list by their ids, or their numbers."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        value = {item.get("id", number): item for number, item in enumerate(value)}
    if not isinstance(value, dict) or not value:
        yield key, value
        return
    for name, part in value.items():
        yield from flat(part, f"{key}.{name}" if key else str(name))


def test_every_entry_is_shown_with_the_values_of_the_registry(real):
    spared = {n for c in classes().values() for n, f in c.model_fields.items() if f.exclude_if}
    for kind in showing.KINDS:
        for name, entry in real.entries(kind).items():
            held = entry.model_dump(mode="json")
            nodes = {n.key: as_list(n.value) for n in real.nodes(kind, name) if n.leaf}
            if kind == "scale":  # budgets are plain settings, whose lists are values
                held_budgets = held.pop("budgets")
                expected = dict(flat(held)) | {"budgets": held_budgets}
                budgets = {k: v for k, v in nodes.items() if k.startswith("budgets.")}
                nodes = {k: v for k, v in nodes.items() if k not in budgets}
                nodes["budgets"] = nested(budgets).get("budgets", {})
            else:
                expected = dict(flat(held))
            assert {k: nodes[k] for k in expected} == expected, (kind, name)
            assert {k.rpartition(".")[2] for k in nodes.keys() - expected.keys()} <= spared
            printed = [line for line in real.values(kind, name) if not line.key.startswith(" ")]
            assert len(printed) == sum(node.leaf for node in real.nodes(kind, name))
            own = {node.key: as_list(node.value) for node in real.nodes(kind, name)}
            assert all(yamls.load(line.value) == own[line.key] for line in printed)


def as_list(value):
    return list(value) if isinstance(value, tuple) else value


def nested(flat_settings):
    made = {}
    for key, value in flat_settings.items():
        *above, last = key.split(".")
        at = made
        for part in above:
            at = at.setdefault(part, {})
        at[last] = value
    return made


TEXTS = {}  # file: line: the keys that stand there, as yaml.compose finds them


def keys_at(file, line):
    """Return the keys of a line of a file, each with its value, by a parser of its own."""
    if file not in TEXTS:
        TEXTS[file] = {}
        _note(yaml.compose((ROOT / file).read_text(), yaml.SafeLoader), "", TEXTS[file])
    return TEXTS[file].get(line, {})


def _note(node, key, keys):
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            below = f"{key}.{name.value}" if key else name.value
            keys.setdefault(name.start_mark.line + 1, {})[below] = value
            _note(value, below, keys)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            pairs = item.value if isinstance(item, yaml.MappingNode) else []
            own = {name.value: value.value for name, value in pairs}
            _note(item, f"{key}.{own.get('id', number)}", keys)


def alike(node, value):
    """Say whether a node's text stands for a value; numbers and truths by what they are."""
    if isinstance(node, yaml.SequenceNode):
        parts = list(value) if isinstance(value, list | tuple) else []
        return len(parts) == len(node.value) and all(map(alike, node.value, parts))
    if isinstance(node, yaml.MappingNode):
        return isinstance(value, dict) and len(value) == len(node.value)
    text = node.value
    if value is None or isinstance(value, bool):
        return text in {None: ("null", ""), True: ("true",), False: ("false",)}[value]
    return text == value if isinstance(value, str) else float(text) == float(value)


PREFIX = re.compile(r"(budget|editions of scale|base) (.+)")


def assert_made_of_its_model(real, kind, node, model):
    """A dense system that no file defines: its values say the file of its model, and no line."""
    entry = real.registry.models[model]
    made = {"kind": "dense", "model": model, "label": entry.description}
    assert kind == "system" and node.value == made[node.key] and not node.spot.line
    assert keys_of(node.spot.file, model), node.spot.file


def keys_of(path, model):
    """Return the keys of a model in the file that the page names."""
    root = yaml.safe_load((ROOT / path).read_text())
    return [*root.get("entries", {Path(path).stem: root})[model]]


def test_each_file_and_line_holds_the_key_with_the_value_that_is_shown(real):
    counted = 0
    for kind in showing.KINDS:
        for name in real.entries(kind):
            for node in real.nodes(kind, name):
                if not node.leaf or node.spot is None or node.spot.file == "--scale":
                    continue
                if (model := node.spot.by.removeprefix("model ")) != node.spot.by:
                    assert_made_of_its_model(real, kind, node, model)
                    continue
                what, of = PREFIX.fullmatch(node.spot.by or "base of its own").groups()
                key = f"budgets.{of}.{node.key}" if what == "budget" else node.key
                if what == "editions of scale":
                    key = node.key.replace("editions", f"editions.{name}", 1)
                held = keys_at(node.spot.file, node.spot.line)
                if all(k.startswith("entries.") for k in held):  # a file of several
                    own = of if what == "base" and node.spot.by else name
                    key = f"entries.{own.rpartition('/')[2]}.{key}"
                where = (kind, name, node)
                if node.removed:
                    stated = [k for k in held if f"{key}.".startswith(f"{k}.")]
                    assert held[max(stated, key=len)].value in ("null", ""), where
                elif key in held:
                    assert alike(held[key], node.value), where
                else:  # a plain value that stands for a mapping of a kind
                    above, _, last = key.rpartition(".")
                    assert last == "kind" and alike(held[above], node.value), where
                counted += 1
    assert counted > 3000


@pytest.mark.parametrize("real", ["mini"], indirect=True)
def test_rows_of_pages_that_name_a_system_are_found_by_searching_the_text(real):
    counted = 0
    for system in ("bm25", "me-bert", "clear-bert-large"):
        found = {line.origin for line in real.uses("system", system) if "plays" not in line.key}
        for path in (ROOT / "config" / "papers").glob("*/*.yaml"):
            for number, text in enumerate(path.read_text().splitlines(), start=1):
                if re.search(rf"\bsystem: {system}[,}}\s]", f"{text}\n"):
                    assert f"{path.relative_to(ROOT)}:{number}" in found
                    counted += 1
    assert counted >= 9


def test_a_released_encoder_is_shown_with_how_its_files_say_it_is_read(tmp_path):
    """Of a folder that is not here, and of the hub, nothing is looked up."""
    entry = {"kind": "released-encoder", "similarity": "dot", "pooling": "mean"}

    def told(**more):
        return showing._reading(ReleasedEncoder.model_validate({**entry, **more}))

    absent = str(tmp_path / "absent")
    assert told(path=absent).endswith(f"no folder {absent} is here.")
    assert "files on the hub say" in told(hub="org/model", revision="a" * 40)
    made = make_backbone(tmp_path / "model", make_corpus(tmp_path / "corpus", toy_docs()))
    read = told(path=str(made), doc_length=7, query_prompt="q: ")
    assert read.startswith(f"Read by the files of {made} and these keys: pooling mean, ")
    assert "prompt of queries 'q: '" in read and "7 of a doc." in read
    (made / "config.json").unlink()
    assert told(path=str(made)).startswith("It cannot be read: ")

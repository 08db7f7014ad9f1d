"""From a checkpoint and its start to a verdict: each kind, on the toy problem."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from residuum import learning
from residuum.artefacts import manifest, trec
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import TermWeights
from residuum.neural import devices
from residuum.neural.crossencoder import CrossEncoder, Pair
from residuum.neural.learners import HeldOut, Start
from residuum.neural.pretrained import Source
from residuum.neural.termgate import TermGater
from residuum.neural.termweighter import TermLearner
from residuum.tuning.choosing import Record
from residuum.tuning.learned import Learned
from tiny_models import (
    cross_encoder_spec,
    model_spec,
    question_generator_spec,
    term_gate_spec,
    term_weights_spec,
    terms_spec,
    toy_docs,
    toy_queries,
    toy_tuples,
    train_toy,
    write_problem,
)

DEVICE = devices.Device("cpu", "fp32")


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy problem; it is judged on its training queries, which no test minds."""
    folder = tmp_path_factory.mktemp("toy") / "toy" / "tune"
    folder.mkdir(parents=True)
    write_problem(folder)
    trec.write_qrels(folder / "qrels.trec", [(t.query_id, t.positive, 1) for t in toy_tuples()])
    hits = pl.DataFrame(
        [(q, d, float(-i)) for q, _ in toy_queries() for i, (d, _) in enumerate(toy_docs())],
        schema=trec.HITS,
        orient="row",
    )
    trec.write_run(folder / "run.trec.gz", trec.rank(hits), "bm25")
    return folder


def judged(
    toy: Path, folder: Path, spec: str, top: int = 20, **training: Path
) -> tuple[pl.DataFrame, Learned]:
    """Train, score and judge; return the scores and the verdict."""
    model = train_toy(toy, folder / "model", spec, **training)
    output, qrels = folder / "model.tsv", toy / "qrels.trec"
    both = {"corpus": toy / "corpus", "queries": toy / "queries.tsv", "start": str(toy / "start")}
    both |= {"spec": spec, "device": "cpu"}
    candidates = {"run": toy / "run.trec.gz", "top": top, "batch_size": 8, "output": output}
    learning.score(**both, **candidates, qrels=qrels, model=model)
    learning.judge([output], qrels, [model], "RR@10", folder / "seed1.json")
    scores = pl.read_csv(output, separator="\t")
    return scores, Learned.read(folder / "seed1.json")


def test_a_dual_encoder_is_judged_on_candidates_and_all_that_is_relevant(
    toy: Path, tmp_path: Path
) -> None:
    spec = model_spec(steps=200, learning_rate=0.005, dropout=0)
    scores, verdict = judged(toy, tmp_path, spec, top=2)
    # two docs of the run for each of 8 queries, and its three relevant docs: of q0 two are both
    assert scores.height == 8 * 5 - 2
    assert scores.columns == ["query_id", "doc_id", "start", "trained"]
    scores, verdict = judged(toy, tmp_path, spec)
    assert verdict.learned and verdict.split_ref == "toy/tune" and verdict.examples == 8
    assert verdict.means["trained"] > 0.9 > verdict.means["start"]
    record = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert verdict.preflight == record["artefact"]["preflight"]


def test_a_model_that_stays_at_its_start_did_not_learn(toy: Path, tmp_path: Path) -> None:
    scores, verdict = judged(toy, tmp_path, model_spec(steps=2, learning_rate=1e-12, dropout=0))
    assert (scores["start"] - scores["trained"]).abs().max() < 1e-5
    assert not verdict.learned and "that of the start" in verdict.reason


def test_a_control_takes_no_step_and_is_its_start(toy: Path, tmp_path: Path) -> None:
    spec = json.dumps({**json.loads(model_spec()), "trained": False})
    scores, _ = judged(toy, tmp_path, spec)
    assert scores["start"].to_list() == scores["trained"].to_list()
    record = json.loads((tmp_path / "model" / "manifest.json").read_text())["artefact"]
    assert record["steps"] == 0 and record["preflight"]["examples"] == 1000


@pytest.mark.parametrize(("loss", "equal"), [("nll", 4), ("logistic", 2)])
def test_a_cross_encoder_is_judged_by_its_scores(
    toy: Path, tmp_path: Path, loss: str, equal: int
) -> None:
    scores, verdict = judged(toy, tmp_path, cross_encoder_spec(loss=loss))
    model = CrossEncoder.load(tmp_path / "model", devices.choose("cpu", "fp32", 1))
    queries, docs = (dict(given) for given in (toy_queries(), toy_docs()))
    texts = [(queries[q], docs[d]) for q, d in scores.select("query_id", "doc_id").iter_rows()]
    asked, own = zip(*texts, strict=True)
    pairs = list(map(Pair, model.tokenise(asked, "query"), model.tokenise(own, "doc")))
    assert scores["trained"].to_list() == pytest.approx(model.score(pairs, 8).tolist(), abs=1e-5)
    assert verdict.preflight["loss_of_equal_scores"] == pytest.approx(math.log(equal), abs=1e-6)
    assert {*verdict.means} == {"trained", "start", "random order"}


def test_term_weights_are_judged_by_the_mean_target(toy: Path, tmp_path: Path) -> None:
    scores, verdict = judged(toy, tmp_path, term_weights_spec(steps=1, learning_rate=1e-9))
    assert scores.columns == ["doc_id", "mean target", "trained"]
    assert scores["doc_id"].to_list() == [doc_id for doc_id, _ in toy_docs()]
    assert not verdict.learned and verdict.measure == "squared error"
    assert "that of the mean target" in verdict.reason


def test_trainings_for_each_fold_are_judged_together(toy: Path, tmp_path: Path) -> None:
    """As one table of all queries; what the starts saw is the mean over trainings."""
    own = {(pair.query_id, pair.positive) for pair in toy_tuples()}
    names = [(q, d) for q, _ in toy_queries() for d, _ in toy_docs()]
    rows = [(*pair, float(n % 7), float(pair in own and n % 5)) for n, pair in enumerate(names)]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "start", "trained"], orient="row")
    half = pl.col("query_id") < "q4"
    parts = {"all": table, "one": table.filter(half), "two": table.filter(~half)}
    seen = {"all": {"gap": 5.0}, "one": {"gap": 1.0, "margin": 4.0}, "two": {"gap": 3.0}}
    for name, part in parts.items():
        (tmp_path / name).mkdir()
        part.write_csv(tmp_path / f"{name}.tsv", separator="\t")
        record = {"artefact": {"preflight": seen[name]}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(record))

    def verdict(*names: str) -> Learned:
        scores, models = [tmp_path / f"{name}.tsv" for name in names], [tmp_path / n for n in names]
        output = tmp_path / f"{'-'.join(names)}.json"
        learning.judge(scores, toy / "qrels.trec", models, "RR@10", output)
        return Learned.read(output)

    whole, both = verdict("all"), verdict("one", "two")
    assert both.examples == 8 and both.learned
    assert both.model_copy(update={"preflight": {}}) == whole.model_copy(update={"preflight": {}})
    assert (whole.preflight, both.preflight) == ({"gap": 5.0}, {"gap": 2.0})


def test_the_course_of_orthogonality_is_read_from_the_log(toy: Path, tmp_path: Path) -> None:
    """Its first and last tenth: of 20 steps two each, of the other training's 4 steps one each."""
    names = [(q, d) for q, _ in toy_queries() for d, _ in toy_docs()]
    rows = [(*pair, 0.0, float(n % 7)) for n, pair in enumerate(names)]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "start", "trained"], orient="row")
    scores = tmp_path / "scores.tsv"
    table.write_csv(scores, separator="\t")
    models = []
    logs = {"one": [0.1, 0.3, *[0.9] * 16, 0.4, 0.6], "other": [0.4, 0.0, 0.0, 0.3], "none": None}
    for name, values in logs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text('{"artefact": {}}')
        column = {"ortho_query": values} if values else {"positive": [0.5]}
        log = pl.DataFrame({"step": range(len(values or [0])), **column})
        log.write_csv(tmp_path / name / "training.tsv", separator="\t")
        models.append(tmp_path / name)
    learning.judge([scores], toy / "qrels.trec", models[:2], "RR@10", tmp_path / "two.json")
    # (0.2 + 0.4) / 2 and (0.5 + 0.3) / 2
    assert Learned.read(tmp_path / "two.json").course == {"ortho_query": (0.3, 0.4)}
    learning.judge([scores], toy / "qrels.trec", models[2:], "RR@10", tmp_path / "none.json")
    assert Learned.read(tmp_path / "none.json").course == {}
    assert "course" not in json.loads((tmp_path / "none.json").read_text()), "no byte more"


def test_the_depth_curve_of_a_reranker_is_read_and_recorded(toy: Path, tmp_path: Path) -> None:
    """It orders other candidates well, and those that it will see no better than chance."""
    names = [(q, d) for q, _ in toy_queries() for d, _ in toy_docs()]
    relevant = {
        tuple(pair) for pair in trec.read_qrels(toy / "qrels.trec").select(trec.PAIR).rows()
    }
    rows = [(*pair, 0.0, float(pair in relevant)) for pair in names]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "start", "trained"], orient="row")
    table.write_csv(tmp_path / "scores.tsv", separator="\t")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "manifest.json").write_text('{"artefact": {}}')
    given = [tmp_path / "scores.tsv"], toy / "qrels.trec", [tmp_path / "model"], "RR@10"
    learning.judge(*given, tmp_path / "alone.json")
    assert Learned.read(tmp_path / "alone.json").learned
    curve = tmp_path / "cross.depths.tsv"
    measured = [("RR@10", 0.0), ("recall", 1.0), ("docs_reranked", 5.0)]
    lines = [("first.seed1", 5, q, measure, value) for q, _ in toy_queries()
             for measure, value in measured]  # fmt: skip
    trec.write_curve(curve, pl.DataFrame(lines, schema=[*trec.curve()], orient="row"))
    verdict = tmp_path / "seed1.json"
    learning.judge(*given, verdict, [curve])
    assert not Learned.read(verdict).learned
    assert "0.000 on the first 5 docs of first.seed1" in Learned.read(verdict).reason
    assert str(curve) in manifest.read(manifest.beside(verdict))["inputs"]


def test_a_column_of_a_long_log_may_begin_with_whole_numbers(toy: Path, tmp_path: Path) -> None:
    """As the share of active triplets, which is 1 for as long as all are."""
    names = [(q, d) for q, _ in toy_queries() for d, _ in toy_docs()]
    rows = [(*pair, 0.0, float(n % 7)) for n, pair in enumerate(names)]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "start", "trained"], orient="row")
    table.write_csv(tmp_path / "scores.tsv", separator="\t")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "manifest.json").write_text('{"artefact": {}}')
    steps = ["step\tactive\tortho_query", *(f"{n}\t1\t0.5" for n in range(300)), "300\t0.9375\t0.5"]
    (tmp_path / "model" / "training.tsv").write_text("\n".join([*steps, ""]))
    verdict = tmp_path / "seed1.json"
    given = [tmp_path / "scores.tsv"], toy / "qrels.trec", [tmp_path / "model"], "RR@10", verdict
    learning.judge(*given)
    assert Learned.read(verdict).course == {"ortho_query": (0.5, 0.5)}


def test_relevant_docs_that_the_corpus_lacks_are_left_out(
    toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "toy" / "tune"
    folder.mkdir(parents=True)
    for name in ("corpus", "queries.tsv", "start", "tuples.jsonl.gz", "run.trec.gz"):
        (folder / name).symlink_to(toy / name)
    own = [(t.query_id, t.positive, 1) for t in toy_tuples()]
    trec.write_qrels(folder / "qrels.trec", [*own, ("q0", "of-another-sample", 1)])
    scores, verdict = judged(folder, tmp_path, model_spec(steps=1, learning_rate=1e-9), top=2)
    assert "1 of 25 relevant docs are not in the corpus: left out" in capfd.readouterr().err
    assert scores.height == 8 * 5 - 2 and verdict.examples == 8
    trec.write_qrels(folder / "qrels.trec", [("q0", "of-another-sample", 1)])
    with pytest.raises(ResiduumError, match=r"qrels.trec: none of its 1 relevant docs is in .*cor"):
        judged(folder, tmp_path / "again", model_spec(steps=1))


def test_term_weights_are_compared_with_the_best_constant(toy: Path, tmp_path: Path) -> None:
    """Against a search over constants; a short doc counts as much as a long one."""
    spec = term_weights_spec(steps=1, learning_rate=1e-9)
    model = train_toy(toy, tmp_path / "model", spec)
    docs = [("long", "flour often here there motor"), ("short", "water")]
    relevant = [("q0", "long"), ("q1", "short")]
    held = HeldOut({"q0": "flour", "q1": "water"}, dict(docs), [], relevant, 8)
    device = devices.Device("cpu", "fp32")
    form = TermWeights.model_validate_json(spec)
    begun = Start(Source(str(toy / "start"), new_head=True), device, 1)
    errors = TermLearner.on_held_out(form, begun, model, held).values["mean target"]
    constants = np.linspace(0, 1, 10_001)
    # one word of five in its query, and one of one
    means = [(((1 - c) ** 2 + 4 * c**2) / 5 + (1 - c) ** 2) / 2 for c in constants]
    assert np.mean(errors) == pytest.approx(min(means), abs=1e-6)


def test_a_generator_is_judged_by_its_error_given_the_right_doc_and_another(
    toy: Path, tmp_path: Path
) -> None:
    """Of each relevant pair the mean -log p of the query's tokens, by transformers itself."""
    spec = question_generator_spec(steps=200)
    scores, verdict = judged(toy, tmp_path / "more", spec)
    assert scores.columns == ["doc_id", "start", "shuffled docs", "trained"]
    assert verdict.measure == "-log p of a token" and verdict.examples == 24 == scores.height
    assert verdict.learned and {*verdict.means} == {"trained", "start", "shuffled docs"}
    assert verdict.means["trained"] < 0.5 * verdict.means["shuffled docs"]
    model = tmp_path / "more" / "model"
    theirs, tokenizer = (
        one.from_pretrained(model) for one in (AutoModelForSeq2SeqLM, AutoTokenizer)
    )
    texts, queries = dict(toy_docs()), dict(toy_queries())
    of = {pair.positive: pair.query_id for pair in toy_tuples()}
    for doc_id, error in scores.select("doc_id", "trained").iter_rows():
        target = tokenizer(queries[of[doc_id]], return_tensors="pt")["input_ids"]
        given = tokenizer(texts[doc_id], return_tensors="pt")
        with torch.no_grad():
            logits = theirs.eval()(**given, decoder_input_ids=target[:, :-1]).logits[0]
        expected = torch.nn.functional.cross_entropy(logits, target[0, 1:])
        assert error == pytest.approx(expected.item(), rel=1e-4)
    none = question_generator_spec(steps=1, learning_rate=1e-9)
    assert not judged(toy, tmp_path / "none", none)[1].learned


def trial(folder: Path, rate: float, mean: float) -> str:
    """Write a verdict on a training at a rate and return the option that names it."""
    path = folder / f"rate-{rate:g}" / "seed1.json"
    path.parent.mkdir(parents=True)
    Learned(
        split_ref="d/dev", learned=True, reason="", measure="RR@10", examples=325,
        means={"trained": mean, "start": 0.3}, better=2, worse=1,
    ).write(path)  # fmt: skip
    return f"{rate!r}={path}"


def test_the_best_rate_is_chosen_the_smallest_of_equals_and_all_are_recorded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    grid = {5e-06: 0.4, 1e-05: 0.5, 2e-05: 0.5, 5e-05: 0.1}
    options = [trial(tmp_path, rate, mean) for rate, mean in grid.items()]
    learning.choose(options, tmp_path / "m@rate.json")
    assert "edge" not in capfd.readouterr().err
    learning.choose(options[:2], tmp_path / "edge.json")
    assert "warning: learning_rate 1e-05 at an edge of the grid" in capfd.readouterr().err
    record = Record.read(tmp_path / "m@rate.json")
    assert [choice.setting for choice in record.choices] == [{"learning_rate": 1e-05}]
    assert record.choices[0].at_edge == [] and record.queries == 325
    assert [(one.setting["learning_rate"], one.means) for one in record.tried] == [
        (rate, [mean]) for rate, mean in grid.items()
    ]


def test_a_training_takes_the_rate_of_the_record(toy: Path, tmp_path: Path) -> None:
    grid = {"grid": [0.001, 0.002], "of": "test", "role": "dev", "measure": "RR@10"}
    spec = model_spec(steps=1, learning_rate=grid)
    learning.choose(
        [trial(tmp_path, 0.001, 0.1), trial(tmp_path, 0.002, 0.2)], tmp_path / "rate.json"
    )
    with pytest.raises(ResiduumError, match="give --rate, the record of its choice"):
        train_toy(toy, tmp_path / "model", spec)
    model = train_toy(toy, tmp_path / "model", spec, rate=tmp_path / "rate.json")
    record = json.loads((model / "manifest.json").read_text())
    assert record["spec"]["model"]["training"]["learning_rate"] == 0.002
    assert str(tmp_path / "rate.json") in record["inputs"]


def drawn(toy: Path, folder: Path, within: float, **training: float) -> tuple[Path, Record]:
    """Train with four kept models and draw their curve; return the model and the record."""
    spec = model_spec(steps=40, snapshots=4, dropout=0, **training)
    model, scores, output = folder / "model", folder / "kept.tsv", folder / f"{within:g}.json"
    qrels = toy / "qrels.trec"
    if not model.exists():
        train_toy(toy, model, spec)
        both = {"corpus": toy / "corpus", "queries": toy / "queries.tsv", "qrels": qrels}
        both |= {"spec": spec, "device": "cpu", "run": toy / "run.trec.gz"}
        both |= {"start": str(toy / "start"), "top": 1000, "batch_size": 8}
        learning.score(**both, model=model, output=scores, kept=True)
    learning.curve(scores, qrels, measure="RR@10", within=within, output=output)
    return model, Record.read(output)


def test_of_a_curve_the_fewest_steps_within_the_error_of_the_best_are_chosen(
    toy: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The points are those of the kept models, each scored by itself, with plain loops."""
    model, record = drawn(toy, tmp_path, 1.0, learning_rate=0.001)
    folders = {10 * n: model / "snapshots" / str(n) for n in (1, 2, 3)} | {40: model}
    values = {0: by_hand(toy, toy / "start"), **{n: by_hand(toy, f) for n, f in folders.items()}}
    means = {n: sum(each) / 8 for n, each in values.items()}
    assert [one.setting["steps"] for one in record.tried] == [0, 10, 20, 30, 40]
    assert [one.means[0] for one in record.tried] == pytest.approx([*means.values()], abs=1e-6)
    assert record.queries == 8 and record.measure == "RR@10"
    best = max((10, 20, 30, 40), key=means.__getitem__)
    spread = math.sqrt(sum((v - means[best]) ** 2 for v in values[best]) / 7)
    for within in (0.0, 1.0, 3.0):
        _, made = drawn(toy, tmp_path, within)
        least = means[best] - within * spread / math.sqrt(8) - 1e-12
        expected = next(n for n in (10, 20, 30, 40) if means[n] >= least)
        assert made.choices[0].setting == {"steps": expected}
        assert made.choices[0].at_edge == (["steps"] if expected == 40 else [])
    assert means[10] < means[best], "else every rule chooses the first point"


def by_hand(toy: Path, folder: Path) -> list[float]:
    """Return RR@10 of each toy query, all docs ordered by a checkpoint's inner products."""
    from residuum.config.schema.encoder import Encoder as Settings
    from residuum.neural.encoders import Encoder

    settings = Settings.model_validate(json.loads(model_spec())["encoder"])
    encoder = Encoder(Source(str(folder)), settings, DEVICE).freeze()
    names = [doc_id for doc_id, _ in toy_docs()]
    docs = encoder.encode([text for _, text in toy_docs()], "doc", 8)
    relevant: dict[str, set[str]] = {}
    for pair in toy_tuples():
        relevant.setdefault(pair.query_id, set()).add(pair.positive)
    values = []
    for query_id, text in toy_queries():
        scores = docs @ encoder.encode([text], "query", 8)[0]
        order = sorted(range(len(names)), key=lambda i: -scores[i])[:10]
        ranks = [n for n, i in enumerate(order, 1) if names[i] in relevant[query_id]]
        values.append(1 / ranks[0] if ranks else 0.0)
    return values


def test_a_training_takes_the_steps_of_the_record(toy: Path, tmp_path: Path) -> None:
    rule = {"most": 40, "every": 10, "of": "test", "role": "dev", "measure": "RR@10"}
    _, record = drawn(toy, tmp_path, 9.0, learning_rate=0.001)
    assert record.choices[0].setting == {"steps": 10}, "all points are within nine errors"
    spec = model_spec(steps=rule)
    with pytest.raises(ResiduumError, match="give --steps, the record of its choice"):
        train_toy(toy, tmp_path / "taken", spec)
    model = train_toy(toy, tmp_path / "taken", spec, steps=tmp_path / "9.json")
    made = json.loads((model / "manifest.json").read_text())
    assert made["spec"]["model"]["training"]["steps"] == 10 == made["artefact"]["steps"]
    assert str(tmp_path / "9.json") in made["inputs"]


def test_a_gate_is_judged_by_the_best_constant_and_terms_behind_it_as_any_dual_encoder(
    toy: Path, tmp_path: Path
) -> None:
    """Against a search over constants, and mean squares over the terms of the vocabulary."""
    scores, verdict = judged(toy, tmp_path / "gate", term_gate_spec(steps=1, learning_rate=1e-9))
    assert scores.columns == ["doc_id", "mean target", "trained"]
    assert not verdict.learned and "that of the mean target" in verdict.reason
    tokenizer = TermGater.load(tmp_path / "gate" / "model", DEVICE).tokenizer
    special = {*tokenizer.all_special_tokens, "[QRY]", "[DOC]"}
    words = [word for word in tokenizer.get_vocab() if word not in special]
    about = {f"d{n}": {*tokenizer.tokenize(text)} for n, (_, text) in enumerate(toy_queries())}
    share = [
        np.mean([word in about[doc_id.partition("-")[0]] for word in words])
        for doc_id in scores["doc_id"]
    ]
    constants = np.linspace(0, 1, 10_001)[:, None]
    errors = np.array(share) * (1 - constants) ** 2 + (1 - np.array(share)) * constants**2
    best = errors[errors.mean(axis=1).argmin()]
    np.testing.assert_allclose(scores["mean target"], best, atol=1e-4)
    trained = judged(toy, tmp_path / "more", term_gate_spec(steps=300, learning_rate=0.003))[1]
    assert trained.means["trained"] < verdict.means["trained"]
    gate = tmp_path / "more" / "model"
    scores, _ = judged(toy, tmp_path / "terms", terms_spec(0.7, steps=2), gate=gate)
    assert scores.columns == ["query_id", "doc_id", "start", "trained"]

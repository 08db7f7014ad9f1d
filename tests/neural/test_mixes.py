"""Training on a mix: exact counts, epochs of each role's own, what is positive in any of them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contents import contents
from killing import as_command, run_and_kill
from residuum import train
from residuum.artefacts import contracts, trec
from residuum.artefacts.contracts import Tuple
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import DualEncoder
from residuum.neural import devices
from residuum.neural.batches import EpochSampler
from residuum.neural.duals import DualLearner
from residuum.neural.learners import Start
from residuum.neural.mixes import MixedSampler, MixedTexts, pairs_of
from residuum.neural.pretrained import Source
from residuum.neural.tokens import Texts
from tiny_models import (
    TOPICS,
    as_options,
    model_spec,
    toy_docs,
    toy_queries,
    train_arguments,
    train_toy,
    write_problem,
)

SHARES = {"real": 0.75, "made": 0.25}
IN_BATCH = {"real": 6, "made": 2}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"))


def bare(*pairs: tuple[str, str]) -> list[Tuple]:
    return [Tuple(query_id, doc_id, 1.0, [], []) for query_id, doc_id in pairs]


def mix_spec(shares: Mapping[str, float] | str = SHARES, **training: Any) -> str:
    record = json.loads(model_spec("nll", **training))
    return json.dumps({**record, "train_on": shares})


def write_role(folder: Path, queries: Sequence[tuple[str, str]], pairs: Sequence[Tuple]) -> None:
    folder.mkdir(parents=True)
    trec.write_queries(folder / "queries.tsv", queries)
    contracts.write_tuples(folder / "tuples.jsonl.gz", pairs)


def write_mix(folder: Path) -> dict[str, list[str]]:
    """Write two roles of the toy problem with the same ids; return them as options name them.

    Queries of `real` are those of four topics, q0 to q3, and those of `made` of the other four.
    """
    docs = [doc_id for doc_id, _ in toy_docs()]
    for role, first in (("real", 0), ("made", 4)):
        texts = [text for _, text in toy_queries()[first : first + 4]]
        pairs = [(f"q{n}", docs[3 * (first + n) + place]) for n in range(4) for place in range(3)]
        write_role(folder / role, [(f"q{n}", t) for n, t in enumerate(texts)], bare(*pairs))
    files = {"tuples": "tuples.jsonl.gz", "queries": "queries.tsv"}
    return {
        key: [f"{role}={folder / role / name}" for role in SHARES] for key, name in files.items()
    }


def keyed(count: int, role: str) -> list[Tuple]:
    return bare(*((f"{role}/q{n}", f"{role}-d{n}") for n in range(count)))


def test_every_batch_has_the_exact_counts_and_epochs_advance_apart() -> None:
    """In 200 steps: 1,200 visits of 7 pairs, 171 or 172 of each; 400 of 11, 36 or 37 of each."""
    pairs = [*keyed(7, "real"), *keyed(11, "made")]
    sampler = MixedSampler(pairs, IN_BATCH, seed=1)
    batches = [[pairs[v.number].query_id for v in sampler.visits(step)] for step in range(200)]
    for batch in batches:
        assert Counter(key.partition("/")[0] for key in batch) == IN_BATCH
    visits = Counter(key for batch in batches for key in batch)
    assert {n for key, n in visits.items() if key.startswith("real")} == {171, 172}
    assert {n for key, n in visits.items() if key.startswith("made")} == {36, 37}
    made = [key for batch in batches for key in batch if key.startswith("made")]
    epochs = [made[first : first + 11] for first in range(0, 396, 11)]
    assert all(len({*epoch}) == 11 for epoch in epochs) and epochs[0] != epochs[1]
    late = MixedSampler(pairs, IN_BATCH, seed=1)
    assert [late.visits(step) for step in (150, 199)] == [sampler.visits(s) for s in (150, 199)]
    assert late.visits(0) != MixedSampler(pairs, IN_BATCH, seed=2).visits(0)


def test_roles_of_the_same_size_have_orders_of_their_own() -> None:
    sampler = MixedSampler([*keyed(20, "a"), *keyed(20, "b")], {"a": 20, "b": 20}, seed=1)
    numbers = [visit.number for visit in sampler.visits(0)]
    assert sorted(numbers) == list(range(40))
    assert [number - 20 for number in numbers[20:]] != numbers[:20]


def test_a_roles_visits_depend_on_no_other_role() -> None:
    """Nor do they on its place among them: what is drawn follows from its name and the seed."""
    mixes = [MixedSampler(keyed(20, "a") + keyed(n, "b"), {"a": 4, "b": 1}, 3) for n in (5, 9)]
    first = [[v for v in mix.visits(7) if v.number < 20] for mix in mixes]
    assert first[0] == first[1] and len(first[0]) == 4
    alone = EpochSampler(20, 4, seed=3).visits(7)
    assert first[0] != alone, "a seed of its own"


def test_pairs_are_those_of_each_role_by_keys_in_whatever_order_they_are_stored(
    tmp_path: Path,
) -> None:
    one, two = bare(("1", "a"), ("2", "b"), ("3", "c")), bare(("1", "b"), ("x/1", "a"))
    for name, rows in (("one", one), ("two", two), ("turned", one[::-1])):
        contracts.write_tuples(tmp_path / f"{name}.gz", rows)
    pairs = pairs_of({"r": tmp_path / "one.gz", "s": tmp_path / "two.gz"}, None)
    keys = [pair.query_id for pair in pairs]
    assert sorted(keys[:3]) == ["r/1", "r/2", "r/3"] and sorted(keys[3:]) == ["s/1", "s/x/1"]
    assert pairs_of({"r": tmp_path / "turned.gz", "s": tmp_path / "two.gz"}, None) == pairs


def by_hand(toy: Path, folder: Path) -> DualLearner:
    """Return a learner whose every batch holds all six pairs, three of each role."""
    real = bare(("q1", "d0-here"), ("q2", "d0-there"), ("q3", "d1-here"))
    queries = [("q1", "about river"), ("q2", "about river"), ("q3", "about bread")]
    write_role(folder / "real", queries, real)
    made = bare(("q1", "d2-here"), ("q2", "d1-here"), ("q9", "d0-often"))
    queries = [("q1", "about music"), ("q2", "bread about"), ("q9", "about river")]
    write_role(folder / "made", queries, made)
    shares = {"real": 0.5, "made": 0.5}
    spec = DualEncoder.model_validate_json(mix_spec(shares, batch_size=6, dropout=0))
    cpu = devices.choose("cpu", "fp32", 1)
    start = Start(Source(str(toy / "start"), dropout=0, new_head=True), cpu, 1)
    tuples = {role: folder / role / "tuples.jsonl.gz" for role in spec.shares}
    texts = {r: Texts(folder / r / "queries.tsv", toy / "corpus", f"{r}'s") for r in spec.shares}
    return DualLearner(spec, start, tuples, MixedTexts(texts))


RIVER, BREAD = frozenset({"d0-here", "d0-there", "d0-often"}), frozenset({"d1-here"})
NO_NEGATIVES = {  # by hand: of a question that stands thrice, in both roles; of a made one
    **dict.fromkeys(("real/q1", "real/q2", "made/q9"), RIVER),
    **dict.fromkeys(("real/q3", "made/q2"), BREAD),
    "made/q1": {"d2-here"},
}
ASKED = {
    **dict.fromkeys(("real/q1", "real/q2", "made/q9"), "about river"),
    **{"real/q3": "about bread", "made/q2": "bread about", "made/q1": "about music"},
}


def test_the_loss_of_a_batch_is_that_without_what_is_positive_in_any_role(
    toy: Path, tmp_path: Path
) -> None:
    learner = by_hand(toy, tmp_path)
    batch = learner.batch(0)
    assert sorted(batch.query_ids) == sorted(NO_NEGATIVES)
    losses = learner.losses(batch, learner.forward(batch), slice(0, 6)).losses
    docs = dict(toy_docs())
    rows = learner.encoder.encode([ASKED[key] for key in batch.query_ids], "query", 8)
    columns = learner.encoder.encode([docs[doc] for doc in batch.positives], "doc", 8)
    expected = []
    for row, (key, own) in enumerate(zip(batch.query_ids, batch.positives, strict=True)):
        scores = [
            float(rows[row] @ columns[column])
            for column, doc in enumerate(batch.positives)
            if column == row or doc not in NO_NEGATIVES[key]
        ]
        assert len(scores) == {3: 4, 1: 5 if own == "d1-here" else 6}[len(NO_NEGATIVES[key])]
        expected.append(np.log(np.exp(scores).sum()) - float(rows[row] @ columns[row]))
    assert losses.detach().numpy() == pytest.approx(np.array(expected), abs=1e-5)
    part = learner.losses(batch, learner.forward(batch), slice(2, 5)).losses
    assert part.detach().numpy() == pytest.approx(np.array(expected[2:5]), abs=1e-5)


def test_a_role_with_all_of_the_share_is_that_role(toy: Path, tmp_path: Path) -> None:
    alone = train_toy(toy, tmp_path / "alone", mix_spec("test", steps=4))
    all_of_it = train_toy(toy, tmp_path / "all", mix_spec({"test": 1}, steps=4))
    assert contents(alone) == contents(all_of_it)


def test_killed_training_on_a_mix_goes_on_and_ends_with_the_same_bytes(
    toy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    files = write_mix(tmp_path)
    spec = mix_spec(steps=200)
    as_command(monkeypatch, "residuum.train", "train", spec)
    whole = train_toy(toy, tmp_path / "whole", spec, **files)
    arguments = train_arguments(toy, tmp_path / "killed", spec, save_every=0, **files)
    state = tmp_path / "killed.work" / "state.pt"
    run_and_kill(["residuum.train", "train", *as_options(arguments)], when=state.exists)
    assert not (tmp_path / "killed").exists()
    capfd.readouterr()
    train.train(**arguments)
    assert "resuming after step" in capfd.readouterr().err
    assert contents(tmp_path / "killed") == contents(whole)


def test_both_roles_are_learned_and_the_manifest_counts_their_pairs(
    toy: Path, tmp_path: Path
) -> None:
    """The docs of a topic share no word with its query: its own role's pairs alone tell."""
    files = write_mix(tmp_path)
    how = {"steps": 200, "learning_rate": 0.005, "dropout": 0}
    model = train_toy(toy, tmp_path / "model", mix_spec(**how), **files)
    record = json.loads((model / "manifest.json").read_text())
    assert record["artefact"]["pairs"] == 24
    assert record["artefact"]["mix"] == {
        "real": {"pairs": 12, "in_batch": 6},
        "made": {"pairs": 12, "in_batch": 2},
    }
    assert record["artefact"]["preflight"]["examples"] == 200 * 8 / 10
    assert record["spec"]["model"]["train_on"] == SHARES
    assert {option.partition("=")[2] for of in files.values() for option in of} < {
        *record["inputs"]
    }
    scores = scored(model)
    own = np.repeat(np.eye(len(TOPICS), dtype=bool), 3, axis=1)
    above = [
        (row[mine][:, None] > row[~mine]).mean() for row, mine in zip(scores, own, strict=True)
    ]
    assert min(np.mean(above[:4]), np.mean(above[4:])) > 0.9, above
    turned = {option: given[::-1] for option, given in files.items()}
    again = train_toy(toy, tmp_path / "again", mix_spec(**how), **turned)
    assert (again / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()


def scored(model: Path) -> np.ndarray:
    """Return the scores (queries, docs) of the whole toy problem."""
    encoder = DualLearner.begin(
        DualEncoder.model_validate_json(model_spec("nll")),
        Start(Source(str(model), new_head=True), devices.choose("cpu", "fp32", 1), 1),
    )
    queries = encoder.encode([text for _, text in toy_queries()], "query", 8)
    return np.asarray(queries @ encoder.encode([text for _, text in toy_docs()], "doc", 8).T)


def test_faulty_files_of_a_mix_are_refused(toy: Path, tmp_path: Path) -> None:
    files, spec = write_mix(tmp_path), mix_spec(steps=1)

    def training(spec: str = spec, **changes: Any) -> None:
        train_toy(toy, tmp_path / "model", spec, **{**files, **changes})

    with pytest.raises(ResiduumError, match="--queries made=PATH is missing"):
        training(queries=files["queries"][:1])
    with pytest.raises(ResiduumError, match="--tuples: no name 'real-'; known: made, real"):
        training(tuples=[files["tuples"][0].replace("real=", "real-="), files["tuples"][1]])
    with pytest.raises(ResiduumError, match="--tuples: train_on names one role, test, but 2 files"):
        training(mix_spec("test", steps=1))
    with pytest.raises(ResiduumError, match="--fold: a mix has no folds"):
        training(fold=[f"one={tmp_path / 'real' / 'queries.tsv'}"], held_out="one")
    contracts.write_tuples(tmp_path / "none.gz", [])
    none = [files["tuples"][0], f"made={tmp_path / 'none.gz'}"]
    with pytest.raises(ResiduumError, match="train_on: made has no training pair"):
        training(tuples=none)
    trec.write_queries(tmp_path / "few.tsv", [("q0", "about winter")])
    with pytest.raises(ResiduumError, match=r"few\.tsv: query_id q1 of .*made/tuples.* \(3 such"):
        training(queries=[files["queries"][0], f"made={tmp_path / 'few.tsv'}"])
    contracts.write_tuples(tmp_path / "strange.gz", bare(("q0", "nowhere")))
    with pytest.raises(ResiduumError, match=r"doc_id nowhere of .*real/tuples.* or .*strange"):
        training(tuples=[files["tuples"][0], f"made={tmp_path / 'strange.gz'}"])

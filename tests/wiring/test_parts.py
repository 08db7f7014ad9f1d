"""What the parts decide for a toy whose files can be named by hand."""

import json
import re
from dataclasses import replace

import pytest

import layouts
from conftest import ROOT
from plan_fixture import BM25, DATASET, MODEL, SYSTEM, TRAINING, named, registry, with_triples
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading
from residuum.config.faults import system_faults
from residuum.config.registry import SplitId
from residuum.config.schema.datasets import Dataset
from residuum.config.schema.downloads import Download
from residuum.config.schema.files import FilesSource
from residuum.config.schema.scales import Config, FromModel, FromPath, RerankerModel
from residuum.wiring import options, sizes
from residuum.wiring.availability import all_available, why_no_docpairs, why_unavailable
from residuum.wiring.base import Constraints, either_id, run_of
from residuum.wiring.corpora import Corpora, Exports, encoded_splits, searched
from residuum.wiring.estimates import Estimate, Estimates
from residuum.wiring.models import Models
from residuum.wiring.paths import Paths
from residuum.wiring.rerankers import candidates, played_rerankers, rerank_systems, reranked
from residuum.wiring.resources import Resources
from residuum.wiring.runs import Evaluations, Hybrids, Runs, Unions, needs_answers, tuning_split

FUSION = {"kind": "fusion", "parts": ["bm25", "vectors"], "k": 10}
TUNED = {"grid": [0.1, 1.0], "tune_on": "tune", "measure": "RR@10"}
MORE = {
    "fused": {
        **FUSION,
        "unretrieved": {"bm25": "true_score", "vectors": "minimum"},
        "interpolation": {"weighted": "bm25", **TUNED},
    },
    "fixed": {
        **FUSION,
        "unretrieved": {"bm25": "minimum", "vectors": "true_score"},
        "interpolation": {"weighted": "bm25", "value": 1.0},
    },
    "cut": {"kind": "rerank", "first_stage": "bm25", "reranker": "role", "depth": {"value": 6}},
    "weighted": {**BM25, "term_weights": "deepct"},
    "sent": {
        "kind": "external",
        "source": "ask them",
        "runs": {"dev": "theirs.txt"},
        "md5": {"dev": 32 * "a"},
    },
    "by-rank": {"kind": "rrf", "parts": ["bm25", "vectors"], "rank_constant": 60, "k": 7},
    "given": {**BM25, "term_weights": "theirs"},
    "pool": {"kind": "candidates", "parts": [{"system": "bm25", "top": 6}], "random": 7},
}
DEEPCT = {"kind": "term-weights", "backbone": "start", "train_on": "train", "training": TRAINING}
GIVEN = {"kind": "released-weights", "source": "ask them", "dataset": "toy", "path": "weights"}
TOY = registry()
TOY = replace(
    TOY,
    systems={**TOY.systems, **{n: SYSTEM.validate_python(entry) for n, entry in MORE.items()}},
    models={
        **TOY.models,
        "deepct": MODEL.validate_python(DEEPCT),
        "theirs": MODEL.validate_python(GIVEN),
    },
)
DEV, TUNE = SplitId("toy", "dev"), SplitId("toy", "tune")
ON_DEV = {"dataset": "toy", "split": "dev"}


def part(kind, registry=TOY, hub=all_available):
    return kind(registry, Paths("r"), hub)


def test_what_is_tuned_and_where_its_record_lies():
    roles = {name: TOY.tuned_on(name) for name in ("bm25", "tuned", "fused", "fixed", "deep")}
    assert roles == {"bm25": None, "tuned": None, "fused": "tune", "fixed": None, "deep": "tune"}
    tuned = [name for name in TOY.systems if tuning_split(TOY, name, DEV)]
    assert tuned == ["tuned", "deep", "deeper", "hybrid", "elsewhere", "fused", "cut"]
    assert tuning_split(TOY, "fused", DEV) == TUNE, "one lambda for every split"
    assert tuning_split(TOY, "deep", DEV) == tuning_split(TOY, "tuned", DEV) == DEV


def test_drawn_folds_choose_on_the_searched_split_itself():
    weighting = {"weighted": "bm25", "grid": [0.1, 1.0], "measure": "RR@10", "folds": 2, "seed": 1}
    entry = SYSTEM.validate_python({**MORE["fused"], "interpolation": weighting})
    made = replace(TOY, systems={**TOY.systems, "fused": entry})
    assert made.tuned_on("fused") is None
    assert tuning_split(made, "fused", DEV) == DEV and tuning_split(made, "fused", TUNE) == TUNE
    tuning = part(Runs, made).tuning(named(**ON_DEV, run="fused.seed2"))
    assert tuning == ["r/tuning/toy/dev/fused.seed2.json"]
    assert why_unavailable(made, "fused", DEV, all_available) is None
    asking = {**weighting, "measure": "AnswerAccuracy@20"}
    entry = SYSTEM.validate_python({**MORE["fused"], "interpolation": asking})
    made = replace(TOY, systems={**TOY.systems, "fused": entry})
    why = "toy/dev has no answers, by which fused is tuned (AnswerAccuracy@20)"
    assert why_unavailable(made, "fused", DEV, all_available) == why


def test_files_of_seeds_are_runs_of_seeds_in_what_is_made_of_them_too(tmp_path, monkeypatch):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    sums = [32 * "a", 32 * "b", 32 * "c"]
    entry = {"kind": "external", "source": "ask", "runs": {"dev": ["1.txt", "2.txt", "3.txt"]}}
    both = {"kind": "rrf", "parts": ["sent", "vectors"], "rank_constant": 60, "k": 7}
    systems = {"sent": {**entry, "md5": {"dev": sums}}, "both": both}
    given = {name: SYSTEM.validate_python(entry) for name, entry in systems.items()}
    made = replace(TOY, systems={**TOY.systems, **given})
    assert made.runs("sent") == ["sent.seed1", "sent.seed2", "sent.seed3"]
    assert made.runs("both") == ["both.seed1", "both.seed2"], "the seeds that all share"
    assert TOY.runs("sent") == ["sent"]
    second = named(**ON_DEV, run="sent.seed2")
    assert part(Runs, made).external(second) == str(tmp_path / "2.txt")
    assert part(Runs, made).external_md5(second) == f"--md5 {sums[1]}"
    (tmp_path / "1.txt").touch()
    missing = why_unavailable(made, "sent", DEV, all_available)
    assert missing == f"no such file: {tmp_path / '2.txt'}. ask"
    for wrong, says in (
        ({"runs": {"dev": "1.txt", "tune": ["1.txt"]}}, "give each role one file, or each a list"),
        ({"md5": {"dev": sums[:2]}}, "md5.dev: give as many as there are files"),
    ):
        with pytest.raises(ValueError, match=says):
            SYSTEM.validate_python({**entry, **wrong})


def test_searched_splits_are_measured_or_tuned_on():
    assert searched(TOY, "toy") == ["tune", "dev"]
    assert encoded_splits(TOY, "toy", "dual", 1) == ["tune", "dev"]


def test_a_dense_model_is_searched_for_the_training_split_that_its_errors_serve():
    own = TOY.models["dual"].negatives
    late = type(own.pools["errors"])(kind="hits", system="vectors", top=10)
    negatives = own.model_copy(update={"pools": {**own.pools, "late": late}})
    late = TOY.models["dual"].model_copy(update={"negatives": negatives})
    scale = TOY.scale.model_copy(
        update={"backbones": {**TOY.scale.backbones, "more": FromModel(model="late")}}
    )
    made = replace(TOY, models={**TOY.models, "late": late}, scales={"toy": scale})
    assert encoded_splits(made, "toy", "dual", 1) == ["tune", "dev", "train"]
    assert encoded_splits(made, "toy", "dual", 2) == ["tune", "dev"], "another seed's model"
    shard = {"dataset": "toy", "model": "dual", "seed": "1"}
    depths = {k: part(Corpora, made).searched_options(named(**shard, k=k)) for k in ("10", "11")}
    assert TOY.systems["vectors"].hits_id == "10", "the one that is mined"
    assert depths["10"] == "--split tune --split dev --split train"
    assert depths["11"] == "--split tune --split dev", "no training asks for other hits"
    mined = part(Models, made).mined_runs(named(model="late"))
    assert mined == ["r/runs/toy/train/vectors.seed1.trec.gz"]
    assert options.each("run", "runs", options.by_system)(None, {"runs": mined}) == (
        "--run vectors=r/runs/toy/train/vectors.seed1.trec.gz"
    )
    assert part(Models, made).mined_runs(named(model="dual")) == []


def test_a_fusion_reads_the_runs_of_its_parts_and_the_scores_that_it_takes_as_true():
    runs, made = part(Runs), named(**ON_DEV, run="fused.seed2")
    lists = ["r/runs/toy/dev/bm25.trec.gz", "r/runs/toy/dev/vectors.seed2.trec.gz"]
    scores = "r/scores/toy/dev/bm25.on.vectors.trec.gz"
    assert (runs.fused(made), runs.true_scores(made)) == (lists, [scores])
    other = runs.true_scores(named(**ON_DEV, run="fixed.seed1"))
    assert other == ["r/scores/toy/dev/vectors.seed1.on.bm25.trec.gz"]
    tuning = runs.tuning(named(**ON_DEV, run="fused.seed2"))
    assert tuning == ["r/tuning/toy/tune/fused.seed2.json"]
    assert runs.tuning(named(**ON_DEV, run="fixed.seed1")) == []


def test_a_fusion_is_told_what_was_requested_of_parts_whose_lists_are_the_best_of_all_docs():
    entry = {**MORE["fused"], "unretrieved": "true_score"}
    closest = {"kind": "ivf", "nlist": 4, "nprobe": 1}
    approximate = TOY.systems["vectors"].model_dump() | {"search": closest}
    fusion, near = map(SYSTEM.validate_python, (entry, approximate))
    exact = replace(TOY, systems={**TOY.systems, "fused": fusion})
    other = replace(exact, systems={**exact.systems, "vectors": near})
    made = named(**ON_DEV, run="fused.seed2")
    k = (TOY.systems["bm25"].k, TOY.systems["vectors"].k)
    given = f"--requested bm25={k[0]} --requested vectors={k[1]}"
    assert part(Unions, exact).requested(made) == given
    assert part(Unions, other).requested(made) == "", "an approximate search may miss docs"
    assert part(Unions).requested(made) == "", "a part gives the least score of its list"


def test_docs_of_all_seeds_of_another_system_are_scored():
    runs = part(Runs).others(named(**ON_DEV, run="bm25", other="vectors"))
    assert runs == [f"r/runs/toy/dev/vectors.seed{seed}.trec.gz" for seed in (1, 2)]


def test_a_snapshots_run_has_lists_and_scores_of_its_own_and_the_finished_models_lambda():
    runs, made = part(Runs), named(**ON_DEV, run="fused.seed2@3")
    assert runs.fused(made)[1] == "r/runs/toy/dev/vectors.seed2@3.trec.gz"
    assert runs.true_scores(made) == ["r/scores/toy/dev/bm25.on.vectors.seed2@3.trec.gz"]
    assert runs.tuning(made) == ["r/tuning/toy/tune/fused.seed2.json"]
    other = runs.others(named(**ON_DEV, run="bm25", other="vectors.seed2@3"))
    assert other == ["r/runs/toy/dev/vectors.seed2@3.trec.gz"]
    shards = part(Corpora).shards(Paths("r").hits)(named(**ON_DEV, run="vectors.seed2@3"))
    assert "seed2@3" in shards[0]
    vectors = named(dataset="toy", model=shards[0].split("/")[3], seed="2@3")
    assert part(Corpora).snapshot(vectors) == "--snapshot 3"
    assert part(Corpora).checkpoint(vectors).endswith("/seed2/manifest.json")


def test_an_index_is_that_of_its_form_and_of_the_weights_in_it():
    searching = part(Corpora)
    plain = searching.index_behind(named(**ON_DEV, run="bm25"))
    assert plain == "r/index/toy/en-porter-lucene/manifest.json"
    run = named(**ON_DEV, run="weighted.seed2")
    weighted = searching.index_behind(run)
    assert weighted == "r/index/toy/en-porter-lucene@deepct.seed2/manifest.json"
    index = named(dataset="toy", index="en-porter-lucene@deepct.seed2")
    made_of = searching.term_weights(index)
    assert made_of == ["r/weights/toy/deepct/seed2/manifest.json"]
    assert searching.term_weights(named(dataset="toy", index="en-porter-lucene")) == []
    assert json.loads(searching.index_form(index))["analysis"]["stemmer"] == "porter"


def test_tuned_rm3_has_a_measure_where_a_role_of_it_is_played():
    assert part(Corpora).rm3_measure(named(**ON_DEV, run="tuned")) == "RR@10"
    with pytest.raises(
        ResiduumError, match=r"names no role that this scale binds to toy/tune; add one"
    ):
        part(Corpora).rm3_measure(named(dataset="toy", split="tune", run="tuned"))


def test_a_fusion_by_rank_reads_the_runs_of_its_parts_and_has_their_seeds():
    assert TOY.runs("by-rank") == ["by-rank.seed1", "by-rank.seed2"]
    assert part(Runs).fused(named(**ON_DEV, run="by-rank.seed2")) == [
        "r/runs/toy/dev/bm25.trec.gz",
        "r/runs/toy/dev/vectors.seed2.trec.gz",
    ]
    assert tuning_split(TOY, "by-rank", DEV) is None
    [expression] = re.findall("{run,(.*)}", Constraints(TOY).runs(Paths().run, "rrf"))
    assert re.fullmatch(expression, "by-rank.seed2") and not re.fullmatch(expression, "fused")


def test_a_corpus_is_encoded_and_searched_in_shards():
    searching = part(Corpora)  # 1,000 docs, 300 a shard
    run = named(**ON_DEV, run="vectors.seed1")
    shards = searching.shards(Paths("r").embeddings)(run)
    assert shards[1:] == [
        f"r/embeddings/toy/dual/seed1/shard-0000{n}/manifest.json" for n in (1, 2, 3)
    ]
    assert len(searching.shards(Paths("r").query_embeddings)(run)) == 1
    assert searching.shard(named(dataset="toy", model="dual", shard="00002")) == "--shard 2 --of 4"


def test_hits_of_first_passages_lie_apart_and_take_the_same_vectors():
    systems = {
        "cut": {"kind": "dense", "model": "dual", "k": 5, "passages": "first"},
        "exact": {
            **{"kind": "hybrid", "parts": ["cut", "vectors"], "k": 5},
            "interpolation": {"weighted": "cut", "value": 2.0},
        },
    }
    made = {name: SYSTEM.validate_python(entry) for name, entry in systems.items()}
    toy = replace(TOY, systems={**TOY.systems, **made})
    run = named(**ON_DEV, run="cut.seed1")
    hits, *_ = part(Corpora, toy).shards(Paths("r").hits)(run)
    assert hits == "r/hits/toy/dual/seed1/top5-first/shard-00000/manifest.json"
    searched_as = {k: named(dataset="toy", model="dual", seed="1", k=k) for k in ("5-first", "7")}
    options = [part(Corpora, toy).first_passages(own) for own in searched_as.values()]
    assert options == ["--first-passages", ""]
    hybrids, own = part(Hybrids, toy), named(**ON_DEV, run="exact.seed1")
    assert hybrids.first_passages(own) == "--first-passages cut"
    assert hybrids.embeddings(own)[:4] == hybrids.embeddings(own)[4:], "of one model"


def test_first_stages_that_share_a_reranker_are_scored_once_to_the_largest_depth():
    assert candidates(TOY, "role", DEV, all_available) == {
        "bm25": 8,
        "vectors.seed1": 3,
        "vectors.seed2": 3,
    }
    shared = reranked(TOY, "role", DEV, all_available)
    assert shared["deep"][1:] == ("bm25", [2, 5])
    assert shared["hybrid.seed2"].first == "vectors.seed2"
    runs, on_dev = part(Runs), named(**ON_DEV, reranker="role")
    assert runs.depths(on_dev).startswith("--run r/runs/toy/dev/bm25.trec.gz --depth 8 --run")
    assert runs.curves(on_dev).startswith("--run deep=r/runs/toy/dev/bm25.trec.gz --run deeper=")
    assert json.loads(runs.curves_spec(on_dev)) == {
        "depths": {
            "deep": [2, 5],
            "deeper": [5, 8],
            "cut": [6],
            "hybrid.seed1": [3],
            "hybrid.seed2": [3],
        },
        "measures": ["RR@10"],
    }


def test_rerank_systems_of_papers_not_chosen_are_left_out():
    """CLEAR alone at full trains none of DualRM's models, whose pairs share its rerankers."""
    base = entries.parse(ROOT / "config" / "config.yaml", dict[str, object])
    every, clear = (
        loading.load(ROOT / "config", {**base, "scale": "full", "papers": papers})
        for papers in (["clear", "dualrm"], ["clear"])
    )
    both, own = (set(rerank_systems(r, "bert-base-reranker")) for r in (every, clear))
    assert own == {"bm25-bert-base", "clear-bert-base"} and both - own == {"dualrm-bert-base"}
    cut = {"dataset": "msmarco-passage", "split": "dev", "run": "dualrm-bert-base.seed1"}
    with pytest.raises(ResiduumError, match="only papers that `papers:` leaves out name it"):
        Runs(clear, Paths("r"), all_available).cut(named(**cut))


def test_what_a_reranker_lacks_is_said_of_its_systems():
    runs, nobody = part(Runs), named(**ON_DEV, reranker="nobody")
    with pytest.raises(ResiduumError, match="elsewhere cannot be run: scale toy binds nothing to"):
        runs.candidates(nobody)
    with pytest.raises(ResiduumError, match="rerankers: nothing plays nobody"):
        runs.reranker(nobody)


def test_a_cut_reads_the_depth_curve_of_the_tuning_split_unless_it_is_fixed():
    assert part(Runs).cut(named(**ON_DEV, run="hybrid.seed2")) == {
        "first": "r/runs/toy/dev/vectors.seed2.trec.gz",
        "scores": ["r/rerank/toy/dev/role/shard-00000.trec.gz"],
        "curve": "r/rerank/toy/tune/role.depths.tsv",
    }
    assert set(part(Runs).cut(named(**ON_DEV, run="cut"))) == {"first", "scores"}, "fixed"


def reranked_alone(**depth):
    """Return the toy with one rerank system, over the dual encoder's hits."""
    entry = {"kind": "rerank", "first_stage": "vectors", "reranker": "role", "depth": depth}
    kept = {name: TOY.systems[name] for name in ("bm25", "vectors")}
    return replace(TOY, systems={**kept, "ten": SYSTEM.validate_python(entry)})


def test_a_fixed_depth_asks_nothing_of_another_split():
    """With a grid the tuning split is searched, scored and measured; with a value no split is."""
    fixed, swept = reranked_alone(value=10), reranked_alone(**{**TUNED, "grid": [5, 10]})
    assert (searched(fixed, "toy"), searched(swept, "toy")) == (["dev"], ["tune", "dev"])
    assert encoded_splits(fixed, "toy", "dual", 1) == ["dev"]
    assert (fixed.tune_split("ten", DEV), swept.tune_split("ten", DEV)) == (None, TUNE)
    runs, on_dev = part(Runs, fixed), named(**ON_DEV, reranker="role")
    assert runs.cut(named(**ON_DEV, run="ten.seed1")) == {
        "first": "r/runs/toy/dev/vectors.seed1.trec.gz",
        "scores": ["r/rerank/toy/dev/role/shard-00000.trec.gz"],
    }
    lists = [f"r/runs/toy/dev/vectors.seed{seed}.trec.gz" for seed in (1, 2)]
    assert runs.candidates(on_dev) == lists
    assert runs.depths(on_dev) == " ".join(f"--run {path} --depth 10" for path in lists)
    unbound = {role: split for role, split in TOY.scale.roles.items() if role != "tune"}
    scale = TOY.scale.model_copy(update={"roles": unbound})
    without = replace(fixed, scales={"toy": scale})
    assert why_unavailable(without, "ten", DEV, all_available) is None
    assert why_unavailable(replace(swept, scales={"toy": scale}), "ten", DEV, all_available)


def test_pairs_are_scored_in_shards_of_a_limited_size():
    """Two seeds of ten docs for each query of `dev`: 20 pairs a query, whatever papers ask."""
    fixed = reranked_alone(value=10)
    queries = sizes.queries(fixed, DEV)
    assert queries == 20
    for most, shards in ((400, 1), (399, 2), (200, 2), (199, 3), (60, 7), (59, 10), (5, 20)):
        scale = TOY.scale.model_copy(update={"shard_pairs": most})
        toy = replace(fixed, scales={"toy": scale})
        runs, on_dev = part(Runs, toy), named(**ON_DEV, reranker="role")
        files = [f"r/rerank/toy/dev/role/shard-{n:05d}.trec.gz" for n in range(shards)]
        assert runs.pairs(on_dev) == files
        assert runs.cut(named(**ON_DEV, run="ten.seed1"))["scores"] == files
        last = named(**ON_DEV, reranker="role", shard=f"{shards - 1:05d}")
        assert runs.shard(last) == f"--shard {shards - 1} --of {shards}"


def test_a_model_starts_from_files_or_from_the_hub(tmp_path):
    models = part(Models)
    assert models.start(named(model="dual", seed="1")) == "r/backbones/small"
    assert models.start_files(named(model="dual")) == ["r/backbones/small/manifest.json"]
    assert models.start(named(model="inbatch")) == "org/bert-base --revision main"
    assert models.start_files(named(model="inbatch")) == []
    (tmp_path / "my model").mkdir()
    (tmp_path / "my model" / "config.json").touch()
    path = FromPath(path=str(tmp_path / "my model"))
    assert models.model_files(path, "toy") == [str(tmp_path / "my model" / "config.json")]
    assert models.model_argument(path, "toy") == f"'{path.path}'"
    made = FromModel(model="cross", seed=3)
    assert models.model_argument(made, "toy") == "r/models/cross/seed3"


def test_tuples_are_of_the_pairs_of_the_training_split():
    models, cross = part(Models), named(model="cross", seed="1")
    assert models.tuples(cross) == ["r/training/dual/tuples.jsonl.gz"], "same_as"
    assert models.trained_on(Paths("r").qrels)(cross) == "r/data/toy/train/qrels.trec"
    spec = json.loads(models.mined_spec(named(model="dual")))
    assert spec["positive_level"] == 2 and spec["system"]["bm25"] == {"b": 0.4, "k1": 0.9}
    assert "label" not in spec["system"]
    assert models.mined_index(named(model="dual")) == ["r/index/toy/en-porter-lucene/manifest.json"]
    assert json.loads(models.mined_spec(named(model="inbatch")))["system"] is None
    assert models.mined_index(named(model="inbatch")) == []


def test_answers_are_read_where_a_measure_needs_them():
    runs, dev = part(Evaluations), named(**ON_DEV, run="bm25")
    assert runs.texts(dev) == []
    split = TOY.datasets["toy"].splits["dev"]
    measured = split.model_copy(update={"measures": ["AnswerAccuracy@20"]})
    splits = {**TOY.datasets["toy"].splits, "dev": measured}
    dataset = TOY.datasets["toy"].model_copy(update={"splits": splits})
    requested = replace(TOY, datasets={"toy": dataset})
    assert needs_answers(requested, DEV) and not needs_answers(requested, TUNE)
    answers, corpus = "r/data/toy/dev/answers.jsonl", "r/data/toy/corpus/manifest.json"
    assert part(Evaluations, requested).texts(dev) == [answers, corpus]


def test_a_run_from_outside_is_a_file_of_yours(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    runs = part(Runs)
    assert runs.external(named(**ON_DEV, run="sent")) == str(tmp_path / "theirs.txt")
    assert runs.external_md5(named(**ON_DEV, run="sent")) == f"--md5 {32 * 'a'}"
    assert runs.external_md5(named(dataset="toy", split="tune", run="sent")) == ""
    with pytest.raises(ResiduumError, match="sent has no file for toy/tune"):
        runs.external(named(dataset="toy", split="tune", run="sent"))
    why = why_unavailable(TOY, "sent", DEV, all_available)
    assert "no such file" in why and "ask them" in why


def test_released_weights_are_files_of_yours_and_their_runs_have_no_seed(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    assert TOY.runs("given") == ["given"] and TOY.trained_behind("given") == []
    corpora = part(Corpora)
    index = "en-porter-lucene@theirs"
    assert corpora.index("toy", run_of(named(run="given"))) == f"r/index/toy/{index}/manifest.json"
    weights = corpora.term_weights(named(dataset="toy", index=index))
    assert weights == ["r/weights/toy/theirs/manifest.json"]
    assert corpora.term_weights(named(dataset="toy", index="en-porter-lucene@deepct.seed1")) == [
        "r/weights/toy/deepct/seed1/manifest.json"
    ]
    why = why_unavailable(TOY, "given", DEV, all_available)
    assert why == f"no such file: {tmp_path / 'weights'}. ask them"
    (tmp_path / "weights").mkdir()
    assert why_unavailable(replace(TOY), "given", DEV, all_available) == why, "an empty folder"
    for name in ("docs01.json", "docs00.json"):
        (tmp_path / "weights" / name).touch()
    assert why_unavailable(replace(TOY), "given", DEV, all_available) is None
    paths = [str(tmp_path / "weights" / name) for name in ("docs00.json", "docs01.json")]
    assert corpora.released(named(dataset="toy", model="theirs")) == paths
    other = MODEL.validate_python({**GIVEN, "dataset": "elsewhere"})
    moved = replace(TOY, models={**TOY.models, "theirs": other})
    why = why_unavailable(moved, "given", DEV, all_available)
    assert why == "theirs has weights of elsewhere only"


VECTORS = {
    "kind": "released-vectors",
    "source": "ask them",
    "docs": {"toy": {"vectors": "d.npy", "ids": "d.txt"}},
    "queries": {"dev": ["q.npz"]},
    "similarity": "dot",
}


def with_model(**models):
    """Return the toy with models, each with its dense system."""
    systems = {n: SYSTEM.validate_python({"kind": "dense", "model": n}) for n in models}
    made = {name: MODEL.validate_python(entry) for name, entry in models.items()}
    return replace(TOY, models={**TOY.models, **made}, systems={**TOY.systems, **systems})


def test_released_vectors_are_of_the_datasets_and_roles_that_they_name(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    moved = {**VECTORS, "docs": {"elsewhere": "d.npz"}}
    toy = with_model(given=VECTORS, moved=moved)
    assert toy.runs("given") == ["given"] and toy.given_behind("given") == ["given"]
    assert encoded_splits(toy, "toy", "given", 0) == ["dev"]
    whys = {at: why_unavailable(toy, "given", at, all_available) for at in (DEV, TUNE)}
    assert whys[DEV] == f"no such file: {tmp_path / 'd.npy'}. ask them"
    assert whys[TUNE] == "given has vectors of the queries of dev only"
    why = why_unavailable(toy, "moved", DEV, all_available)
    assert why == "moved has vectors of elsewhere only"
    for name in ("d.npy", "d.txt", "q.npz"):
        (tmp_path / name).touch()
    assert why_unavailable(replace(toy), "given", DEV, all_available) is None
    corpora, job = part(Corpora, toy), named(dataset="toy", model="given", seed="0")
    paths = [str(tmp_path / name) for name in ("d.npy", "d.txt", "q.npz")]
    assert (corpora.doc_vectors(job), corpora.query_vectors(job)) == (paths[:2], paths)
    spec = json.loads(corpora.query_vectors_spec(job))
    assert (spec["docs"], spec["queries"]) == ([VECTORS["docs"]["toy"]], {"dev": ["q.npz"]})
    assert json.loads(corpora.doc_vectors_spec(job)).keys() == {"docs", "similarity"}


def test_queries_may_be_read_by_another_released_encoder(tmp_path):
    """Its checkpoint is an input of the queries alone, and a row needs both models."""
    for name in ("docs", "asks"):
        (tmp_path / name).mkdir()
    entry = {"kind": "released-encoder", "path": str(tmp_path / "docs"), "queries": "asks"}
    asks = {"kind": "released-encoder", "path": str(tmp_path / "asks")}
    registry = with_model(theirs2=entry, asks=asks)
    corpora = part(Corpora, registry)
    both = {"dataset": "toy", "seed": "0"}
    assert corpora.asking(named(model="theirs2", **both)) == ["r/models/asks/seed0/manifest.json"]
    assert corpora.asking(named(model="asks", **both)) == []
    assert (
        corpora.checkpoint(named(model="theirs2", **both)) == "r/models/theirs2/seed0/manifest.json"
    )
    assert why_unavailable(registry, "theirs2", DEV, all_available) is None
    (tmp_path / "asks").rmdir()
    why = why_unavailable(with_model(theirs2=entry, asks=asks), "theirs2", DEV, all_available)
    assert why == f"no such folder: {tmp_path / 'asks'}, which asks names"


def reranked_by(reranker, **models):
    """Return the toy with models and the system `by`, which reranks BM25's first 7 docs."""
    entry = {"kind": "rerank", "first_stage": "bm25", "reranker": reranker, "depth": {"value": 7}}
    toy = with_model(**models)
    return replace(toy, systems={**toy.systems, "by": SYSTEM.validate_python(entry)})


def test_a_released_encoder_reranks_by_its_id(tmp_path):
    """It is no cross-encoder and has no seed; its checkpoints are inputs, and rows need them."""
    for name in ("docs", "asks"):
        (tmp_path / name).mkdir()
    late = {"kind": "released-encoder", "pooling": "tokens"}
    models = {
        "late": {**late, "path": str(tmp_path / "docs"), "queries": "asking"},
        "asking": {**late, "path": str(tmp_path / "asks")},
    }
    toy = reranked_by({"model": "late"}, **models)
    assert toy.reranker("by") == "late@seed0" and toy.runs("by") == ["by"]
    runs, job = part(Runs, toy), named(**ON_DEV, reranker="late@seed0")
    assert runs.depths(job) == "--run r/runs/toy/dev/bm25.trec.gz --depth 7"
    checkpoints = ["r/models/late/seed0", "r/models/asking/seed0"]
    assert runs.reranker(job) == f"--model {checkpoints[0]} --asking {checkpoints[1]}"
    assert runs.reranker_files(job) == [f"{path}/manifest.json" for path in checkpoints]
    assert runs.reranked_folds(job) == []
    assert json.loads(runs.pairs_spec(job)) == {"batch_size": 8}, "texts, of any encoder"
    cross = json.loads(runs.pairs_spec(named(**ON_DEV, reranker="role")))
    assert cross == {"batch_size": 4, "kind": "cross-encoder"}
    assert played_rerankers(toy, ["by"]).keys() == {"late@seed0"}
    assert why_unavailable(toy, "by", DEV, all_available) is None
    (tmp_path / "asks").rmdir()
    why = why_unavailable(reranked_by({"model": "late"}, **models), "by", DEV, all_available)
    assert why == f"no such folder: {tmp_path / 'asks'}, which asking names"
    (tmp_path / "asks").mkdir()
    seeded = reranked_by({"model": "late", "seed": 1}, **models)
    fault = ("reranker", "seed: late is not trained here; leave it out")
    assert [*system_faults(seeded, seeded.systems["by"])] == [fault]
    assert [*system_faults(toy, toy.systems["by"])] == []


def test_a_released_encoder_s_own_precision_goes_before_that_of_the_run(tmp_path):
    half = {"kind": "released-encoder", "path": str(tmp_path), "precision": "bf16"}
    plain = {"kind": "released-encoder", "path": str(tmp_path)}
    toy = reranked_by({"model": "half"}, half=half, plain=plain)
    toy = replace(toy, config=toy.config.model_copy(update={"precision": "fp32"}))
    resources = Resources(toy)
    for model, precision in (("half", "bf16"), ("plain", "fp32"), ("dual", "fp32")):
        options = f"--threads 2 --device auto --precision {precision} --arithmetic native"
        assert resources.encoding(named(model=model)) == f"--batch-size 8 {options}"
    for reranker, precision in (("half@seed0", "bf16"), ("role", "fp32")):
        options = f"--threads 2 --device auto --precision {precision} --arithmetic native"
        assert resources.reranking(named(reranker=reranker)) == options


def test_a_role_of_rerankers_may_be_played_by_a_released_encoder(tmp_path):
    toy = reranked_by("role", theirs={"kind": "released-encoder", "path": str(tmp_path)})
    scale = toy.scale.model_copy(update={"rerankers": {"role": RerankerModel(model="theirs")}})
    runs = part(Runs, replace(toy, scales={"toy": scale}))
    assert runs.reranker(named(**ON_DEV, reranker="role")) == "--model r/models/theirs/seed0"


def test_a_trained_dual_encoder_reranks_with_one_seed():
    toy = reranked_by({"model": "dual", "seed": 3})
    assert toy.reranker("by") == "dual@seed3" and toy.runs("by") == ["by"]
    runs, job = part(Runs, toy), named(**ON_DEV, reranker="dual@seed3")
    assert runs.reranker(job) == "--model r/models/dual/seed3"
    assert json.loads(runs.pairs_spec(job)) == {"batch_size": 8}


def test_candidates_are_of_no_system_with_a_run_for_each_seed():
    external = {"kind": "external", "source": "x", "runs": {"dev": ["a", "b"]}}
    drawn = {"kind": "candidates", "parts": [{"system": "seeded", "top": 5}]}
    made = {"seeded": SYSTEM.validate_python(external), "drawn": SYSTEM.validate_python(drawn)}
    registry = replace(TOY, systems={**TOY.systems, **made})
    why = "'seeded' has a run for each seed, and candidates are one list"
    cure = "name an external system with one file"
    assert [*system_faults(registry, made["drawn"])] == [("parts", f"{why}; {cure}")]


def test_a_program_depends_on_the_files_of_its_command(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "embed.py").touch()
    program = {"kind": "program", "similarity": "dot", "command": ["sh", "embed.py", "x" * 999]}
    toy = with_model(
        asked=program,
        gone={**program, "command": ["no-such-program"]},
        more={**program, "files": ["weights"]},
    )
    assert toy.runs("asked") == ["asked"] and toy.given_behind("asked") == ["asked"]
    assert part(Corpora, toy).program_files(named(model="asked")) == ["embed.py"]
    whys = [why_unavailable(toy, name, DEV, all_available) for name in ("asked", "gone", "more")]
    assert whys == [
        None,
        "no such program: no-such-program, which gone runs",
        "no such file: weights, which more names",
    ]


def test_an_export_whose_files_are_absent_ends_the_run(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    source = FilesSource(kind="files", corpus="docs.jsonl")
    dataset = TOY.datasets["toy"].model_copy(update={"source": source})
    data = part(Exports, replace(TOY, datasets={"toy": dataset}))
    with pytest.raises(SystemExit, match=r"error: dataset toy: no such file: .*docs.jsonl"):
        data.files(named(dataset="toy"))
    (tmp_path / "docs.jsonl").touch()
    assert data.files(named(dataset="toy")) == [str(tmp_path / "docs.jsonl")]


def test_ids_of_wildcards_are_those_of_the_scale():
    only = Constraints(TOY)
    runs = Paths().run
    assert (
        only.runs(runs, "dense") == r"runs/{dataset}/{split}/{run,vectors\.seed\d+(@\d+)?}.trec.gz"
    )
    assert "{run,tuned}" in only.runs(runs, "lexical", tunes_rm3=True)
    assert r"{run,bm25|weighted\.seed\d+(@\d+)?|given}" in only.runs(
        runs, "lexical", tunes_rm3=False
    )
    adapted = only.models(Paths().backbone, "masked-language")
    assert adapted == "backbones/{model,(?!)}/manifest.json", "matches nothing"


def test_ids_that_differ_behind_the_at_sign_make_a_short_expression_of_these_ids_alone():
    ids = ["dual", "trial@rate-2e-05", "own@toy.train", "other@toy.train", "own@real.train.fold1"]
    ids += ["other@real.train.fold1", "dual-large"]
    expression = either_id(ids)
    assert all(re.fullmatch(expression, one) for one in ids)
    wrong = ["trial", "own", "dual@toy.train", "trial@toy.train", "own@toy-train", "dual@", ""]
    assert not any(re.fullmatch(expression, one) for one in wrong)
    names, splits = [f"model-{n}" for n in range(60)], [f"data-{n}.train" for n in range(20)]
    many = [f"{name}@{split}" for name in names for split in splits]
    assert len(either_id(many)) < 2_000 < len("|".join(many))
    assert not re.fullmatch(either_id([]), "")


def test_cards_and_processes_follow_from_the_configuration():
    plain, sizes = Resources(TOY), {"estimate": lambda w: Estimate(), "mem_mb": 6000}
    taken, dual = plain.training(**sizes), named(model="dual")
    assert (taken["mem_mb"](dual, 1), taken["gpu"]) == (6000, 0)
    assert plain.precise.endswith(" --precision auto --arithmetic native")
    assert plain.torchrun == "" and plain.batches.startswith("--batch-size 8 --threads 2 ")
    config = Config(scale="toy", papers=["toy"], device="cuda", gpus=4)
    several = Resources(replace(TOY, config=config))
    taken = several.training(**sizes)
    assert (taken["mem_mb"](dual, 1), taken["gpu"]) == (24000, 4), "of a process each"
    for made, cards in ((several.card(**sizes), 1), (several.cpu(**sizes), 0)):
        assert (made["mem_mb"](dual, 1), made["gpu"]) == (6000, cards)
    assert several.torchrun.startswith("python -m residuum.neural.cards 4 torchrun --standalone ")
    assert "--nproc-per-node 4" in several.torchrun and several.neural_env == "neural-gpu"


def test_with_device_auto_jobs_request_what_this_machine_has():
    work, sizes = Estimate(operations=60e9 * 7200), {"mem_mb": 6000}
    for cards, requested, environment in ((0, 0, "neural"), (2, 1, "neural-gpu")):
        made = Resources(TOY, cards)
        taken = made.card(lambda w: work, **sizes)
        assert (taken["gpu"], made.neural_env) == (requested, environment)
        assert made.cpu(lambda w: work, **sizes)["gpu"] == 0
        assert (taken["runtime"](None, threads=1, attempt=1) > 8 * 60) == (not requested)
        assert made.compute.endswith("--device auto"), "no job is made again on another machine"


def test_an_export_holds_the_judgements_of_what_it_reads():
    edition = TOY.datasets["toy"].editions[1]
    pins = {"train": edition.splits["train"].model_copy(update={"qrels": 10_000_000})}
    large = edition.model_copy(update={"splits": pins})
    dataset = TOY.datasets["toy"].model_copy(update={"editions": [large]})
    resources = Resources(replace(TOY, datasets={"toy": dataset}))
    assert resources.export_mb(named(dataset="toy", split="tune")) == 2000 + 4000, (
        "held out of train"
    )
    assert resources.export_mb(named(dataset="toy", split="dev")) == 2000
    assert resources.export_mb(named(dataset="toy")) == 2000


def test_an_export_of_a_generated_collection_holds_all_its_docs():
    mini = loading.load(ROOT / "config", {"scale": "mini", "papers": ["clear"]})
    export = {"dataset": "generated-mini"}
    assert Resources(mini).export_mb(named(**export)) == 2000, "of few docs"
    dataset = mini.datasets["generated-mini"]
    editions = [dataset.editions[0].model_copy(update={"docs": 10_000_000})]
    large = dataset.model_copy(update={"editions": editions})
    resources = Resources(replace(mini, datasets={"generated-mini": large}))
    text = sizes.doc_bytes(mini, "generated-mini")
    for wildcards in (export, {**export, "split": "dev"}):
        assert resources.export_mb(named(**wildcards)) == 500 + 10 * (900 + 2 * text)


def test_a_backbone_that_is_made_holds_the_words_and_factors_of_all_docs():
    assert Resources(TOY).backbone_mb(named(model="small")) == 4000, "of few docs"
    large = TOY.datasets["toy"].editions[1].model_copy(update={"docs": 9_000_000})
    dataset = TOY.datasets["toy"].model_copy(update={"editions": [large]})
    memory = Resources(replace(TOY, datasets={"toy": dataset})).backbone_mb(named(model="small"))
    words, factors = 12 * 1000 / 4.5, 4 * 8 * (64 + 10)
    assert memory == 1000 + int(9 * (words + factors))


def test_two_roles_of_one_collection_are_one_corpus_to_hold_and_two_folders_to_name():
    small = TOY.models["small"].model_copy(update={"corpora": ["train", "tune"]})
    large = TOY.datasets["toy"].editions[1].model_copy(update={"docs": 9_000_000})
    dataset = TOY.datasets["toy"].model_copy(update={"editions": [large]})
    once = replace(TOY, datasets={"toy": dataset})
    twice = replace(once, models={**TOY.models, "small": small})
    job = named(model="small")
    assert Resources(twice).backbone_mb(job) == Resources(once).backbone_mb(job) > 4000
    assert len(part(Models, twice).corpora(job)) == 2


def test_official_triples_are_exported_for_the_model_that_takes_them_alone():
    toy = with_triples(first=70)
    models, exports = part(Models, toy), part(Exports, toy)
    inputs = {name: models.docpairs(named(model=name)) for name in ("official", "dual")}
    assert inputs == {"official": ["r/data/toy/train/docpairs.tsv.gz"], "dual": []}
    assert models.tuples(named(model="follower")) == ["r/training/official/tuples.jsonl.gz"]
    train = named(dataset="toy", split="train")
    assert '"docpairs":"toy/triples"' in exports.docpairs_spec(train)
    plain = part(Exports).spec(train)
    assert exports.spec(train) == plain, "queries and qrels do not depend on them"
    assert [mark in plain for mark in ("docpairs", "triples")] == [False, False]


def test_gzipped_files_of_yours_are_inputs_as_they_lie(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path))
    layouts.beir(tmp_path, packed=True)
    triples = tmp_path / "mine" / "triples.tsv.gz"
    triples.write_bytes(b"")
    entry = {"source": {"kind": "beir", "folder": "mine"}, "splits": {"test": {}}}
    mine = Dataset.model_validate(entry)
    split = mine.splits["test"].model_copy(update={"docpairs": "mine/triples.tsv"})
    mine = mine.model_copy(update={"splits": {"test": split}})
    of_mine = replace(TOY, datasets={"toy": mine})
    exports, test = part(Exports, of_mine), named(dataset="toy", split="test")
    files = ["triples.tsv.gz", "corpus.jsonl.gz", "queries.jsonl.gz", "qrels/test.tsv"]
    assert exports.docpairs_files(test) == [str(tmp_path / "mine" / name) for name in files]
    assert exports.files(named(dataset="toy")) == [str(tmp_path / "mine" / "corpus.jsonl.gz")]
    assert why_no_docpairs(of_mine, SplitId("toy", "test")) is None


def test_a_split_without_triples_leaves_their_models_out_and_says_where_they_belong():
    why = why_unavailable(with_triples(70, docpairs=None), "follower", DEV, all_available)
    assert why == (
        "toy/train has no training triples: config/datasets/toy.yaml: splits.train.docpairs"
    )
    assert why_unavailable(with_triples(70), "follower", DEV, all_available) is None
    toy = with_triples(70)
    by_hand = Download.model_validate({"file": "t.gz", "splits": ["train"], "docpairs": True})
    data = toy.datasets["toy"].model_copy(update={"downloads": [by_hand]})
    why = why_unavailable(replace(toy, datasets={"toy": data}), "follower", DEV, all_available)
    assert why and why.startswith("no such file: ") and "t.gz. Access to toy: " in why
    assert why_unavailable(with_triples(70, docpairs=None), "vectors", DEV, all_available) is None


ANSWERED = TOY.datasets["toy"].splits | {
    name: TOY.datasets["toy"].splits[name].model_copy(update={"answers_field": "a", **more})
    for name, more in (("train", {}), ("dev", {"relevant_by": "answers"}))
}


def with_answers(**negatives):
    """Return the toy with answers: dev is judged by them, train has them for its negatives."""
    dataset = TOY.datasets["toy"].model_copy(update={"splits": ANSWERED})
    dual = TOY.models["dual"]
    changed = dual.model_copy(
        update={"negatives": dual.negatives.model_copy(update=negatives)}
    )  # fmt: skip
    return replace(TOY, datasets={"toy": dataset}, models={**TOY.models, "dual": changed})


def test_a_split_that_answers_judge_is_made_of_the_corpus():
    made, corpus = part(Exports, with_answers()), "r/data/toy/corpus/manifest.json"
    judging = {split: made.judged_by(named(dataset="toy", split=split)) for split in ANSWERED}
    assert judging == {"train": [], "tune": [], "dev": [corpus], "open": []}
    costs, text = Estimates(with_answers()), sizes.text_bytes(TOY, "toy")
    job = costs.judged_split(named(**ON_DEV))
    assert job.core_s == pytest.approx(text / 1e6 / sizes.ANSWERS_MB)
    assert sizes.pairs(with_answers(), DEV) == 1000 * 20 * sizes.HELD
    other = named(dataset="toy", split="train")
    assert costs.judged_split(other) == costs.split(other)
    many = with_answers().datasets["toy"].editions[1].model_copy(update={"docs": 10**9})
    dataset = with_answers().datasets["toy"].model_copy(update={"editions": [many]})
    resources = Resources(replace(TOY, datasets={"toy": dataset}))
    assert resources.export_mb(named(**ON_DEV)) == 2000 + 400 * 20 * 1000 * sizes.HELD


def test_a_split_that_answers_judge_needs_the_files_of_the_corpus(tmp_path):
    entry = {**DATASET, "source": {"kind": "files", "corpus": "docs.jsonl"}, "downloads": []}
    entry |= {"splits": {name: {"questions": f"{name}.csv"} for name in ("dev", "open")}}
    entry["splits"]["dev"]["relevant_by"] = "answers"
    entry |= {"editions": [{"name": "any", "docs": 1}]}
    dataset = Dataset.model_validate(entry)
    absent = {split: [path.name for path in dataset.missing(split, tmp_path, tmp_path)]
              for split in (None, "dev", "open")}  # fmt: skip
    corpus = ["docs.jsonl"]
    assert absent == {None: corpus, "dev": [*corpus, "dev.csv"], "open": ["open.csv"]}


def test_negatives_without_answers_read_those_of_the_training_split():
    asked = part(Models, with_answers(without_answers=True))
    assert asked.mined_answers(named(model="dual")) == ["r/data/toy/train/answers.jsonl"]
    assert part(Models, with_answers()).mined_answers(named(model="dual")) == []
    negatives = TOY.models["dual"].negatives.model_copy(update={"without_answers": True})
    dual = TOY.models["dual"].model_copy(update={"negatives": negatives})
    plain = part(Models, replace(TOY, models={**TOY.models, "dual": dual}))
    assert plain.mined_answers(named(model="dual")) == [], "the split has none"
    costs = [Estimates(with_answers(without_answers=x)).negatives(named(model="dual")).core_s
             for x in (True, False)]  # fmt: skip
    read = sizes.text_bytes(TOY, "toy") / 1e6 / sizes.ANSWERS_MB
    assert costs[0] - costs[1] == pytest.approx(read)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"run": "bm52"}, r"no system 'bm52'; known: .*Did you mean bm25\?"),
        ({"split": "devv"}, r"no split of toy 'devv'; known: .*Did you mean dev\?"),
        ({"dataset": "tou"}, r"no dataset 'tou'; known: .*Did you mean toy\?"),
        ({"run": "vectors"}, r"vectors has a run for each training seed: name vectors\.seed1"),
    ],
)
def test_a_measurement_of_what_is_not_there_names_the_nearest(changed, fault):
    target = named(**{**ON_DEV, "run": "bm25", **changed})
    with pytest.raises(ResiduumError, match=fault):
        part(Evaluations).ranked(target)


def test_candidates_are_made_of_their_parts_and_measured_in_the_order_of_others():
    runs, pool = part(Runs), named(**ON_DEV, run="pool")
    assert runs.fused(pool) == ["r/runs/toy/dev/bm25.trec.gz"]
    evaluations, own = part(Evaluations), named(**ON_DEV, run="vectors.seed1")
    over = named(**ON_DEV, run="vectors.seed1.on.pool")
    assert evaluations.ranked(own) == "r/runs/toy/dev/vectors.seed1.trec.gz"
    assert evaluations.ranked(over) == "r/scores/toy/dev/vectors.seed1.on.pool.trec.gz"
    assert evaluations.record(over) == evaluations.ranked(over) + ".manifest.json"
    [expression] = re.findall("{run,(.*)}", Constraints(TOY).orders(Paths().metrics))
    assert re.fullmatch(expression, "vectors.seed1.on.pool") and re.fullmatch(expression, "bm25")
    assert not re.fullmatch(expression, "vectors.seed1.on.bm25"), "whose docs are no candidates"
    lines = Estimates(TOY)._lines(over), Estimates(TOY)._lines(named(**ON_DEV, run="bm25"))
    assert lines[0] == 13 * Estimates(TOY)._queries(over) != lines[1]

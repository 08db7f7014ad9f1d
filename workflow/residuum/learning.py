"""Whether a model learned: how it and its start score candidates that no training step saw.

Command: `python -m residuum.learning score|judge ...`. Candidates are the first docs of a lexical
run and all relevant docs. To rank the whole corpus, each model would have to encode all docs.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import pydantic
import typer

from residuum.artefacts import files, intact, manifest, trec
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.config.schema.models import DualEncoder, Trained
from residuum.config.schema.reading import Windows
from residuum.neural import devices, foreign, hub, release
from residuum.neural.learners import KINDS, ContrastiveLearner, HeldOut, Start
from residuum.neural.pretrained import Source
from residuum.neural.resumable import SNAPSHOTS, log
from residuum.neural.tokens import Texts, windows_of
from residuum.tuning.choosing import Choice, Record, Setting, Tried, edges, warn_of_edges
from residuum.tuning.learned import (
    MEASURES,
    SHUFFLED,
    Learned,
    by_columns,
    by_errors,
    by_ranks,
    error_of,
    on_candidates,
    with_candidates,
)

app = command.app(__doc__)


Model = Annotated[Path, typer.Option(help="checkpoint that training ended with")]


@app.command("score")
def score(
    run: Annotated[Path, typer.Option(help="lexical run whose docs are candidates")],
    top: Annotated[int, typer.Option(min=1, help="docs of the run for each query")],
    queries: command.Queries,
    qrels: command.Qrels,
    corpus: command.Corpus,
    model: Model,
    start: command.Start,
    spec: Annotated[str, typer.Option(help="JSON of a trained kind, as DualEncoder")],
    batch_size: command.BatchSize,
    output: Annotated[Path, command.written("TSV of ids and of the values of both models")],
    revision: command.Revision = None,
    pickled: command.Pickled = False,
    threads: command.Threads = 1,
    device: command.Device = "auto",
    precision: command.Precision = "auto",
    arithmetic: command.Arithmetic = "native",
    windows: command.Windows = None,
    kept: Annotated[
        bool, typer.Option("--kept", help="score each model that a training kept, by its steps")
    ] = False,
) -> None:
    """Score the candidates with the trained model, and with what it is compared with."""
    form = command.parse_spec(pydantic.RootModel[Trained], spec).root
    chosen = devices.choose(device, precision, threads, arithmetic)
    cut = windows_of(windows)
    held = held_out(run, top, queries, qrels, corpus, batch_size, cut)
    source = Source(start, revision, new_head=True, pickled=pickled)
    begun = Start(source, chosen, 0)
    kind = KINDS[form.kind]
    if kept:
        assert issubclass(kind, ContrastiveLearner), "a curve is of candidates in order"
        made = kind.scored(form, begun, kept_models(model), held)
    else:
        made = kind.on_held_out(form, begun, model, held)
    table = pl.DataFrame({**made.ids, **made.values})
    files.write_text(output, table.write_csv(separator="\t"))
    at = revision and (hub.commit(start, revision) or revision)  # the commit of a branch
    setting = {"model": form.model_dump(mode="json"), "start": start, "revision": at}
    setting |= {"windows": cut.model_dump()} if cut else {}
    setting |= {"top": top, "batch_size": batch_size, "threads": threads, **chosen._asdict()}
    facts: dict[str, object] = {"rows": table.height, "weights": foreign.weights_sha256(model)}
    if isinstance(form, DualEncoder) and (lost := release.drops(source, form.encoder)):
        facts["start_without"] = lost
        log(
            f"warning: the files of {start} ask for {'; '.join(lost)}. The model of this entry "
            "does not do that. Where `encoder` has a key of that name, it keeps it"
        )
    inputs = [run, queries, qrels, corpus / "manifest.json", model]
    inputs += [Path(start)] if Path(start).is_dir() else []
    manifest.write(output, facts, setting, inputs, "residuum.learning")


def kept_models(model: Path) -> dict[str, Path]:
    """Return the models that a training kept, the finished one last, by their steps."""
    steps = manifest.facts(model, "a training that keeps models")["snapshots"]
    folders = [model / SNAPSHOTS / str(number) for number in range(1, len(steps))]
    return dict(zip(map(str, steps), [*folders, model], strict=True))


def held_out(
    run: Path,
    top: int,
    queries: Path,
    qrels: Path,
    corpus: Path,
    batch_size: int,
    windows: Windows | None = None,
) -> HeldOut:
    """Return the first `top` docs of a run and all relevant docs, for queries with relevant docs.

    Relevant docs that the corpus lacks, as a sampled corpus may, are left out. With `windows`, the
    records of docs are kept, from which passages are cut.
    """
    judged = trec.read_qrels(qrels).filter(pl.col("relevance") >= 1).select(trec.PAIR)
    listed = trec.cut(trec.read_run(run), top).select(trec.PAIR)
    listed = listed.join(judged, on="query_id", how="semi")
    named, relevant = {*listed["doc_id"]}, {*judged["doc_id"]}
    texts = Texts(queries, corpus, str(run))
    lacking = relevant - named  # docs that a sampled corpus may lack
    records = dict(texts.docs(named | relevant, lacking)) if windows else {}
    docs = {doc_id: record["text"] for doc_id, record in records.items()}
    docs = docs or dict(texts.read("doc", named | relevant, optional=lacking))
    present = judged.filter(pl.col("doc_id").is_in(list(docs)))
    _check_present(judged.height, present.height, qrels, corpus)
    listed = listed.join(present, on="query_id", how="semi")
    pairs = pl.concat([listed, present]).unique().sort(trec.PAIR)
    used = {*pairs["doc_id"]}
    return HeldOut(
        dict(texts.read("query", {*pairs["query_id"]})),
        {doc_id: text for doc_id, text in docs.items() if doc_id in used},
        list(pairs.iter_rows()),
        list(present.sort(trec.PAIR).iter_rows()),
        batch_size,
        windows,
        records,
    )


def _check_present(judged: int, present: int, qrels: Path, corpus: Path) -> None:
    """Refuse qrels none of whose relevant docs is in the corpus; log how many are missing."""
    if not present:
        raise ResiduumError(
            f"{qrels}: none of its {judged} relevant docs is in {corpus}, so nothing tells whether "
            "a model learned. Check own.tune of the dataset"
        )
    if lost := judged - present:
        log(f"{lost} of {judged} relevant docs are not in the corpus: left out")


@app.command("judge")
def judge(
    scores: Annotated[list[Path], typer.Option(help="TSV that `score` wrote, for each training")],
    qrels: command.Qrels,
    model: Annotated[list[Path], typer.Option(help="checkpoint of each training")],
    measure: Annotated[str, typer.Option(help="ir_measures name, by which orders are judged")],
    output: Annotated[Path, command.written("JSON to write")],
    depths: Annotated[
        list[Path] | None, typer.Option(help="depth curve of the reranker that it plays; repeat")
    ] = None,
) -> None:
    """Say whether a model learned, with the numbers behind it and the pre-flight of its start.

    A reranker is judged on the candidates that it will see, too. A model that is trained by folds
    is judged on all queries: each query by the training that has not seen it. Its pre-flight is
    the mean over trainings.
    """
    table = pl.concat(map(_read_scores, scores))
    if "query_id" in table.columns:
        relevant = trec.read_qrels(qrels)
        verdict, examples = by_ranks(table, relevant, measure)
        curves = [trec.read_curve(intact.checked(path)) for path in depths or []]
        of_runs = [one for curve in curves for one in on_candidates(curve, relevant, measure)]
        verdict = with_candidates(verdict, of_runs, measure)
    else:
        values = {name: table[name].to_numpy() for name in table.columns[1:]}
        trained, shuffled = values.pop("trained"), values.pop(SHUFFLED, None)
        [(other, errors)] = values.items()
        verdict = by_errors(trained, errors, other, shuffled)
        measure, examples = MEASURES[other], table.height
    made = Learned(
        split_ref="/".join(qrels.parts[-3:-1]),
        measure=measure,
        examples=examples,
        preflight=_preflight(model),
        course=_course(model),
        **verdict._asdict(),
    )
    made.write(output)
    inputs = [*scores, qrels, *(one / "manifest.json" for one in model), *(depths or [])]
    manifest.write(output, made.model_dump(), {"measure": measure}, inputs, "residuum.learning")


def _read_scores(path: Path) -> pl.DataFrame:
    types = {"query_id": pl.String, "doc_id": pl.String}
    held = files.read_bytes(intact.checked(path))
    return pl.read_csv(held, separator="\t", schema_overrides=types)


def _preflight(models: list[Path]) -> dict[str, float]:
    """Return the means over trainings of what manifests record of the first examples."""
    seen = [manifest.facts(model, "a model").get("preflight", {}) for model in models]
    if len(seen) == 1:
        return dict(seen[0])
    known = set.intersection(*map(set, seen))
    each = {name: [facts[name] for facts in seen] for name in seen[0] if name in known}
    return {name: math.fsum(values) / len(values) for name, values in each.items()}


def _course(models: list[Path]) -> dict[str, tuple[float, float]]:
    """Return the means of each cos^2 of the logs over the first and the last tenth of the steps.

    They are means over trainings. Only the loss `orthogonality` logs such columns.
    """
    paths = [path for model in models if (path := model / "training.tsv").is_file()]
    read = partial(pl.read_csv, separator="\t", infer_schema_length=None)  # 1 may precede 0.5
    logs = [read(files.read_bytes(path)) for path in paths]
    names = [name for name in logs[0].columns if name.startswith("ortho_")] if logs else []
    ends = {name: [_ends(steps[name].drop_nulls()) for steps in logs] for name in names}
    return {
        name: (_mean(first), _mean(last))
        for name, parts in ends.items()
        for first, last in [zip(*parts, strict=True)]
    }


def _ends(values: pl.Series) -> tuple[float, float]:
    tenth = max(1, len(values) // 10)
    return _mean(values[:tenth]), _mean(values[-tenth:])


def _mean(values: Sequence[float] | pl.Series) -> float:
    """Return a mean with six digits, on which mathematical libraries agree."""
    return float(f"{math.fsum(values) / len(values):.6g}")


@app.command("curve")
def curve(
    scores: Annotated[Path, typer.Option(help="TSV that `score --kept` wrote")],
    qrels: command.Qrels,
    measure: Annotated[str, typer.Option(help="ir_measures name, by which orders are judged")],
    within: Annotated[float, typer.Option(min=0, help="standard errors below the best point")],
    output: Annotated[Path, command.written("record of the choice to write")],
) -> None:
    """Judge the models that a training kept, and choose a number of steps.

    It is the smallest whose mean is within some standard errors of the best mean. The standard
    error is that of the best mean over the queries. The start stands beside them as 0 steps.
    """
    values = by_columns(_read_scores(scores), trec.read_qrels(qrels), measure)
    start, points = values.pop("start"), {int(steps): value for steps, value in values.items()}
    best = max(points.values(), key=lambda value: value.mean())
    least = best.mean() - within * error_of(best)
    taken = next(steps for steps, value in points.items() if value.mean() >= least)
    means = {steps: _mean(pl.Series(value)) for steps, value in {0: start, **points}.items()}
    record = _record("steps", means, taken, measure, len(start))
    record = record.model_copy(update={"within": within})
    record.write(output, {"within": within}, [scores, qrels], "residuum.learning")


@app.command("choose")
def choose(
    trial: Annotated[list[str], typer.Option(help="RATE=JSON of judge, the smallest rate first")],
    output: Annotated[Path, command.written("record of the choice to write")],
) -> None:
    """Choose the learning rate of the best mean, the smallest of equals; record all tried."""
    paths = {float(rate): path for rate, path in command.pairs(trial)}
    verdicts = {rate: Learned.read(path) for rate, path in sorted(paths.items())}
    means = {rate: verdict.means["trained"] for rate, verdict in verdicts.items()}
    first = next(iter(verdicts.values()))
    best = max(means, key=means.__getitem__)
    record = _record("learning_rate", means, best, first.measure, first.examples)
    record.write(output, {"rates": list(verdicts)}, [*paths.values()], "residuum.learning")


def _record(
    key: str, means: Mapping[float, float], taken: float, measure: str, queries: int
) -> Record:
    """Return the record of a value of `training`, with all that were tried; warn of an edge."""
    settings: list[Setting] = [{key: value} for value in means]
    setting: Setting = {key: taken}
    at_edge, mean = edges(setting, settings), means[taken]
    chosen = Choice(setting=setting, at_edge=at_edge, queries=queries, mean=mean)
    warn_of_edges(chosen)
    tried = [Tried(setting=s, means=[m]) for s, m in zip(settings, means.values(), strict=True)]
    return Record(choices=[chosen], measure=measure, queries=queries, tried=tried)


if __name__ == "__main__":
    command.main(app)

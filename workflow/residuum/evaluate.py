"""Per-query metrics of a run, by ir_measures and by our own measures, and what chance reaches.

Command: `python -m residuum.evaluate run|bounds|over ...`.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, indexes, manifest, proven, residual, trec, winners
from residuum.cli import command
from residuum.cli.errors import NotRun
from residuum.cli.progress import track
from residuum.config import measures
from residuum.tuning import ceilings, judgements
from residuum.tuning.answers import Answers, Docs
from residuum.tuning.evaluation import Texts, evaluate, means, refuse_unjudged

app = command.app(__doc__)
INPUTS = ("judgements", "answers")  # that a measure reads beside a run

AnswersOf = Annotated[
    Path | None, typer.Option(help="answers of the questions, for measures by answers")
]
CorpusOf = Annotated[Path | None, typer.Option(help="corpus folder, for measures by answers")]


@app.command()
def run(
    run: Annotated[Path, typer.Option(help="TREC run")],
    qrels: command.Qrels,
    measure: command.Measures,
    output: Annotated[Path, command.written("metrics TSV to write")],
    answers: AnswersOf = None,
    corpus: CorpusOf = None,
) -> None:
    """Write query_id, measure and value for every judged query; a query without a list has 0.

    If the run was refused, the metrics are refused too. The manifest repeats what the run's
    manifest records: its index, how many docs judged before were removed, the share of queries for
    which a union is exact, and the share of first hits that other vectors than the first win.
    """
    inputs = [qrels, *([answers, corpus / "manifest.json"] if answers and corpus else [])]
    measure = list(dict.fromkeys(measure))
    try:
        judges = any(measures.reads(name) == "judgements" for name in measure)
        judged = trec.read_qrels(qrels) if judges else pl.DataFrame()  # empty for answers alone
        texts = partial(_texts, answers, corpus) if answers and corpus else None
        metrics, held = _metrics(run, judged, measure, texts)
        averages = means(metrics)
        refuse_unjudged(averages, judged, str(qrels))
        if judges and not held:
            fault = "no list holds a doc that is judged for its query"
            print(f"warning: {run}: {fault}. Are the qrels of this corpus?", file=sys.stderr)
        trec.write_metrics(output, metrics)
        facts: dict[str, object] = {"queries": metrics["query_id"].n_unique(), "means": averages}
        shown = ", ".join(f"{name} {value:.4f}" for name, value in averages.items())
        print(f"{shown} ({facts['queries']} queries)", file=sys.stderr)
        if of_run := _of_run(run):
            facts |= of_run
            inputs = [manifest.beside(run), *inputs]
    except NotRun as reason:
        trec.write_refusal(output, str(reason))
        facts = {"not_run": str(reason)}
    spec = {"measures": sorted(measure), "ties": "evaluated on ranks"}
    manifest.write(output, facts, spec, [run, *inputs], "residuum.evaluate")


@app.command()
def bounds(
    qrels: command.Qrels,
    corpus: command.Corpus,
    measure: command.Measures,
    output: Annotated[Path, command.written("TSV to write")],
    answers: AnswersOf = None,
) -> None:
    """Write what a random order and the best order of a corpus reach.

    Lines have query_id, measure, chance and ceiling. A measure without formulas has no line.
    """
    docs = contracts.corpus_manifest(corpus)["docs"]
    named, made = _by_input(measure), list[pl.DataFrame]()
    if named["judgements"]:
        judged = ceilings.relevance(trec.read_qrels(qrels))
        made.append(ceilings.of_queries(judged, named["judgements"], docs))
    inputs = [qrels, corpus / "manifest.json"]
    if answers and named["answers"]:
        held = judgements.of_corpus(answers, corpus)
        made.append(ceilings.of_queries(held, named["answers"], docs))
        inputs.append(answers)
    _write_bounds(output, made, measure, {"docs": docs}, inputs)


@app.command()
def over(
    qrels: command.Qrels,
    candidates: Annotated[Path, typer.Option(help="run whose docs are put into order")],
    measure: command.Measures,
    output: Annotated[Path, command.written("TSV to write")],
    answers: AnswersOf = None,
    corpus: CorpusOf = None,
) -> None:
    """Write what a random order and the best order of each query's candidates reach.

    Lines are those of `bounds`.
    """
    listed, named, made = trec.read_run(candidates), _by_input(measure), list[pl.DataFrame]()
    if named["judgements"]:
        judged = trec.read_qrels(qrels)
        made.append(ceilings.of_candidates(judged, named["judgements"], listed))
    inputs = [qrels, candidates]
    if answers and corpus and named["answers"]:
        asked = sorted(contracts.read_answers(answers))
        held = judgements.of_lists(listed, asked, answers, corpus)
        made.append(ceilings.of_candidates(held, named["answers"], listed))
        inputs += [answers, corpus / "manifest.json"]
    _write_bounds(output, made, measure, {"candidates": listed.height}, inputs)


def _by_input(names: list[str]) -> dict[str, list[str]]:
    """Return the measures that read judgements, and those that read answers, each once."""
    every = sorted({*names})
    return {of: [name for name in every if measures.reads(name) == of] for of in INPUTS}


def _write_bounds(
    output: Path,
    made: list[pl.DataFrame],
    names: list[str],
    facts: dict[str, int],
    inputs: list[Path],
) -> None:
    trec.write_bounds(output, pl.concat([pl.DataFrame(schema=trec.BOUNDS), *made]))
    manifest.write(output, facts, {"measures": sorted({*names})}, inputs, "residuum.evaluate")


def _of_run(run: Path) -> dict[str, object]:
    of_union = {str(depth): share for depth, share in proven.recorded(run).items()}
    facts: dict[str, object] = {"index": indexes.recorded(run), proven.PROVEN: of_union}
    removed, won = residual.removed(run), winners.recorded(run)
    kept = {name: fact for name, fact in facts.items() if fact}
    kept |= {winners.SHARE: won} if won is not None else {}
    return kept | ({residual.REMOVED: removed} if removed is not None else {})


def _metrics(
    run: Path, judged: pl.DataFrame, names: list[str], texts: Texts | None
) -> tuple[pl.DataFrame, bool]:
    """Return query_id, measure and value, and whether the run holds a judged doc.

    Memory holds some queries' lists. Measures by answers read the corpus once, for the first docs
    of all lists.
    """
    named = _by_input(names)
    depth = max((measures.cutoff(name) or 0 for name in named["answers"]), default=0)
    first, made, held, rest = list[pl.DataFrame](), list[pl.DataFrame](), False, judged
    for part in trec.read_lists(run):
        if named["answers"]:
            first.append(trec.owned(trec.cut(part, depth)))
        if named["judgements"]:
            some = rest.join(part, on="query_id", how="semi", maintain_order="left")
            rest = rest.join(part, on="query_id", how="anti", maintain_order="left")
            lists = part.join(some, on="query_id", how="semi", maintain_order="left")
            if some.height:
                made.append(evaluate(lists, some, named["judgements"]))
                held = held or not lists.join(some, on=trec.PAIR, how="semi").is_empty()
    if named["judgements"] and (rest.height or not made):  # no list, or no judgements at all
        made.append(evaluate(part.clear(), rest, named["judgements"]))
    if named["answers"]:
        made.append(evaluate(pl.concat(first), judged, named["answers"], texts))
    return pl.concat(made).sort("query_id", maintain_order=True), held


def _texts(answers: Path, corpus: Path) -> tuple[Answers, Docs]:
    count = contracts.corpus_manifest(corpus)["docs"]
    docs = track(contracts.read_docs(corpus), "look for answers", count, "docs")
    return contracts.read_answers(answers), docs


if __name__ == "__main__":
    command.main(app)

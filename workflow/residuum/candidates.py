"""Make the lists of docs that systems only put into order: the first of some runs, random others.

Command: `python -m residuum.candidates draw ...`. Source: Luan et al., Sparse, Dense, and
Attentional Representations for Text Retrieval, TACL 2021, sections 5 and 6. Must not know
judgements: a relevant doc that neither half holds is not in the list.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, manifest, trec
from residuum.artefacts.residual import Residual
from residuum.artefacts.streams import disk_list
from residuum.cli import command
from residuum.cli.errors import ResiduumError
from residuum.cli.progress import track
from residuum.config.schema.systems import CandidatesSystem
from residuum.config.specs import derive

app = command.app(__doc__)
QUERIES_AT_ONCE = 1000


@app.command()
def draw(
    corpus: command.Corpus,
    queries: command.Queries,
    spec: Annotated[str, typer.Option(help="schema.CandidatesSystem as JSON")],
    run: Annotated[list[str], typer.Option(help="a part and its run: SYSTEM=RUN; repeat")],
    tag: command.Tag,
    output: command.Run,
    judged_before: command.JudgedBefore = None,
) -> None:
    """Write the candidates of each query: the parts' docs in their order, then the random ones.

    A doc's score is how many candidates stand at or below it.
    """
    system = command.parse_spec(CandidatesSystem, spec)
    runs = command.named_paths("--run", run, [part.system for part in system.parts])
    residual, asked = Residual(judged_before), sorted(trec.read_queries(queries))
    tops = [first(trec.read_run(runs[part.system]), part.top, asked) for part in system.parts]
    barred = lists(residual.pairs)
    total, hits = contracts.corpus_manifest(corpus)["docs"], 0

    def doc_ids() -> Iterator[str]:
        return (i for i, _ in track(contracts.read_corpus(corpus), "read", total, "docs"))

    with disk_list(output, doc_ids()) as ids:

        def parts() -> Iterator[pl.DataFrame]:
            nonlocal hits
            for start in range(0, len(asked), QUERIES_AT_ONCE):
                some = asked[start : start + QUERIES_AT_ONCE]
                drawn = {q: joined([top.get(q, []) for top in tops]) for q in some}
                for query_id, docs in drawn.items():
                    out, seed = {*docs, *barred.get(query_id, [])}, derive(system.seed, query_id)
                    docs += others(ids, system.random, out, Random(seed))
                hits += sum(map(len, drawn.values()))
                yield ranked(drawn)

        trec.write_run(output, parts(), tag)
    inputs = [corpus / "manifest.json", queries, *runs.values(), *residual.paths]
    facts = {"hits": hits, "queries": len(asked)}
    manifest.write(output, facts, system, inputs, "residuum.candidates")


def lists(pairs: pl.DataFrame) -> dict[str, list[str]]:
    """Return the docs of each query, in their order."""
    grouped = pairs.group_by("query_id", maintain_order=True).agg("doc_id")
    return dict(grouped.iter_rows())


def first(run: pl.DataFrame, top: int, asked: Iterable[str]) -> dict[str, list[str]]:
    """Return the first docs of each query; one that is not asked is an error."""
    found = lists(trec.cut(run, top))
    if others := found.keys() - {*asked}:
        raise ResiduumError(f"query {min(others)} of a part's run is not in the split's queries")
    return found


def joined(tops: Iterable[Iterable[str]]) -> list[str]:
    """Return the docs of several lists one behind another, each once."""
    return list(dict.fromkeys(doc for top in tops for doc in top))


def others(ids: Sequence[str], count: int, out: set[str], random: Random) -> list[str]:
    """Draw `count` docs uniformly from those that are not out; of fewer, all of them."""
    size = min(len(ids), count + len(out)) if count else 0
    drawn = map(ids.__getitem__, random.sample(range(len(ids)), size))
    return [doc_id for doc_id in drawn if doc_id not in out][:count]


def ranked(drawn: dict[str, list[str]]) -> pl.DataFrame:
    """Return the lists as a run whose scores count down to 1."""
    rows = [
        (query_id, doc_id, rank, float(len(docs) + 1 - rank))
        for query_id, docs in sorted(drawn.items())
        for rank, doc_id in enumerate(docs, start=1)
    ]
    names = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "score": pl.Float64}
    return pl.DataFrame(rows, schema=names, orient="row")


if __name__ == "__main__":
    command.main(app)

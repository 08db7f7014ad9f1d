"""Make the lists of docs that systems only put into order: the first of some runs, random others.

Command: `python -m residuum.candidates draw ...`. Source: Luan et al., Sparse, Dense, and
Attentional Representations for Text Retrieval, TACL 2021, sections 5 and 6.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Annotated

import polars as pl
import typer

from residuum.artefacts import contracts, manifest, trec
from residuum.artefacts.residual import Residual
from residuum.artefacts.streams import chunks, disk_list, drawn
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
    run: command.PartRuns,
    tag: command.Tag,
    output: command.Run,
    judged_before: command.JudgedBefore = None,
) -> None:
    """Write the candidates of each query: the parts' docs in their order, then the random ones.

    A doc's score is how many candidates stand at or below it.
    """
    system = command.parse_spec(CandidatesSystem, spec)
    runs = command.named_paths("--run", run, [part.system for part in system.parts])
    residual, query_ids = Residual(judged_before), sorted(trec.read_queries(queries))
    parts = [(trec.read_run(runs[part.system]), part.top) for part in system.parts]
    tops = [top_docs(run, top, query_ids) for run, top in parts]
    judged = dict(trec.lists_of(residual.pairs).iter_rows())
    total = contracts.corpus_manifest(corpus)["docs"]

    def doc_ids() -> Iterator[str]:
        return (i for i, _ in track(contracts.read_corpus(corpus), "read", total, "docs"))

    with disk_list(output, doc_ids()) as ids:

        def candidates(query_id: str) -> list[str]:
            docs = joined(top.get(query_id, []) for top in tops)
            left_out = {*docs, *judged.get(query_id, [])}
            random = Random(derive(system.seed, query_id))
            others = drawn(ids, system.random, left_out, random) if system.random else []
            return [*docs, *others[: system.random]]

        def lists() -> Iterator[pl.DataFrame]:
            for some in chunks(query_ids, QUERIES_AT_ONCE):
                yield ranked({query_id: candidates(query_id) for query_id in some})

        hits = trec.write_run(output, lists(), tag).hits
    inputs = [corpus / "manifest.json", queries, *runs.values(), *residual.paths]
    facts = {"hits": hits, "queries": len(query_ids)}
    manifest.write(output, facts, system, inputs, "residuum.candidates")


def top_docs(run: pl.DataFrame, top: int, query_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the first `top` docs of each query; a run of another split raises ResiduumError."""
    docs = dict(trec.lists_of(trec.cut(run, top)).iter_rows())
    if others := docs.keys() - {*query_ids}:
        raise ResiduumError(f"query {min(others)} of a part's run is not in the split's queries")
    return docs


def joined(tops: Iterable[Iterable[str]]) -> list[str]:
    """Return the docs of several lists, one list after the other, each doc once."""
    return list(dict.fromkeys(doc for top in tops for doc in top))


def ranked(lists: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Return lists as a run, with scores that count down to 1 in each list."""
    rows = [
        (query_id, doc_id, len(docs) - before)
        for query_id, docs in lists.items()
        for before, doc_id in enumerate(docs)
    ]
    return trec.rank(pl.DataFrame(rows, schema=trec.HITS, orient="row"))


if __name__ == "__main__":
    command.main(app)

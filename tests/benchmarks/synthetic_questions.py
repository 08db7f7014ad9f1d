"""What a generator's questions name of the docs of PubMed's stand-in, beside its own questions.

PYTHONPATH=workflow python tests/benchmarks/synthetic_questions.py [--scale mini]

Needs the split `synthetic` of a finished scale below the working directory. Of questions, each with
its doc, it prints the share that names the doc's condition by a form of its name, its aspect, and
both. It also prints the share that breaks off, with a last word of Lucene's English stop words, and
quartiles of the number of docs that fit (see `residuum.questions.fits`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, quantiles

import yaml

from residuum import questions
from residuum.artefacts import trec
from residuum.collections.articles import World, generate
from residuum.collections.worlds import Stream
from residuum.config.schema.generated import GeneratedArticles

ROOT = Path(__file__).parents[2]
LUCENE = """
a an and are as at be but by for if in into is it no not of on or such that the their then there
these they this to was will with
"""
STOPWORDS = frozenset(LUCENE.split())
Questions = Sequence[tuple[str, str]]  # doc_id and text of each question


def shares_naming(listed: Questions, recipe: GeneratedArticles) -> dict[str, float]:
    """Return the shares of questions that name a condition, an aspect and both of their docs."""
    rng = Stream(recipe.seed, "docs")
    world = World(rng, recipe)
    facts = dict(enumerate(world.draw_facts(rng), start=1))

    def named(kind: str, doc_id: str, text: str) -> bool:
        forms = world.forms[kind][facts[int(doc_id[1:])].about[kind]]
        return any(form.lower() in text for form in forms)

    conditions, aspects = (
        [named(kind, doc_id, text) for doc_id, text in listed] for kind in ("condition", "aspect")
    )
    both = fmean(map(all, zip(conditions, aspects, strict=True)))
    return {"condition": fmean(conditions), "aspect": fmean(aspects), "both": both}


def main() -> None:
    """Print the shares of the synthetic questions, then of the splits' own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="mini")
    scale = parser.parse_args().scale
    dataset = f"generated-pubmed-{scale}"
    entry = yaml.safe_load((ROOT / f"config/datasets/{dataset}.yaml").read_text())
    recipe = GeneratedArticles.model_validate(entry["source"])
    made, data = generate(recipe), Path("results") / scale / "data" / dataset
    written = trec.read_queries(data / "synthetic" / "queries.tsv")
    by_split = {"synthetic": [(name.rpartition(".")[0], text) for name, text in written.items()]}
    for split in ("train", "test"):
        texts = dict(made.queries[split])
        by_split[split] = [(doc_id, texts[query_id]) for query_id, doc_id, _ in made.qrels[split]]
    for split, pairs in by_split.items():
        shares = shares_naming(pairs, recipe)
        shares["breaks off"] = fmean(text.split()[-1] in STOPWORDS for _, text in pairs)
        fitting = quantiles(questions.fits(data / "corpus", pairs), n=4)
        named = ", ".join(f"{what} {share:.3f}" for what, share in shares.items())
        print(f"{split}: {len(pairs)} questions; {named}; fit {fitting}")


if __name__ == "__main__":
    main()

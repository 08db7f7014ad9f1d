"""The stage fidelity from files to tables, against plain loops; what it refuses, what it prints."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from residuum import fidelity
from residuum.artefacts import fidelities, files, manifest, termvectors
from residuum.cli.errors import ResiduumError
from residuum.config.schema.fidelities import Fidelity
from residuum.inspect import fidelities as inspect
from residuum.vectors.projection import signs

TERMS = [f"t{n:02}" for n in range(30)]
SPEC = {"model": "bm25-vectors", "distribution": "rademacher", "draws": 2, "error": 0.2, "bins": 3,
        "fewest": 1,
        "dimensions": {"few": [4], "step": 8, "most": 24}, "groups": 3, "nearest": [1, 2, 3],
        "depth": 2, "seed": 4}  # fmt: skip


def dense(count: int, share: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.round(random.gamma(2, 1, (count, 30)) * (random.random((count, 30)) < share), 3)


QUERIES, DOCS = dense(8, 0.1, 1), dense(40, 0.2, 2)


def write(folder: Path, ids: list[str], rows: np.ndarray) -> None:
    termvectors.write(folder, ids, TERMS, csr_array(rows.astype(np.float32)))


def made(folder: Path, queries: np.ndarray = QUERIES, docs: np.ndarray = DOCS) -> dict[str, object]:
    """Write vectors of queries and of two shards of docs; return the arguments of measure."""
    shards, half = [], len(docs) // 2
    for number, (start, end) in enumerate(((0, half), (half, len(docs)))):
        with files.whole_directory(folder / f"docs{number}") as path:
            write(path, [f"d{n:02}" for n in range(start, end)], docs[start:end])
            facts = {"weights": "w", "shard": {"number": number, "of": 2, "docs": end - start}}
            manifest.write(path, facts, {}, [], "residuum.termvectors")
        shards.append(folder / f"docs{number}")
    with files.whole_directory(folder / "queries") as path:
        write(path / "dev", [f"q{n}" for n in range(len(queries))], queries)
        facts = {"weights": "w", "queries": {"dev": len(queries)}}
        manifest.write(path, facts, {}, [], "residuum.termvectors")
    return {"docs": shards, "queries": folder / "queries" / "dev", "output": folder / "made"}


def measured(folder: Path, **changed: object) -> fidelities.Measured:
    fidelity.measure(**made(folder), spec=json.dumps(SPEC | changed))
    return fidelities.read(folder / "made")


def loops(rows: range) -> tuple[dict[int, dict[int, float]], dict[int, int]]:
    """Return each query's margins to docs of some rows, and its first doc among them."""
    docs, queries = DOCS.astype(np.float32), QUERIES.astype(np.float32)
    margins: dict[int, dict[int, float]] = {}
    firsts: dict[int, int] = {}
    for n, query in enumerate(queries.astype(float)):
        scores = {i: float(docs[i].astype(float) @ query) for i in rows}
        first = min(rows, key=lambda i: (-scores[i], i))
        if scores[first] > 0:
            firsts[n] = first
            margins[n] = {
                i: (scores[first] - scores[i])
                / np.linalg.norm(query)
                / np.linalg.norm(docs[first].astype(float) - docs[i])
                for i in rows
                if scores[first] - scores[i] > 1e-9
            }
    return margins, firsts


def turned(margins: dict[int, dict[int, float]], firsts: dict[int, int], k: int, seed: int) -> dict:
    a = signs(TERMS, 24, seed)[:, :k].astype(float)
    q, d = QUERIES.astype(np.float32) @ a, DOCS.astype(np.float32) @ a
    return {n: {i for i in of if q[n] @ d[i] >= q[n] @ d[firsts[n]]} for n, of in margins.items()}


def test_tables_are_those_of_plain_loops(tmp_path: Path) -> None:
    of = measured(tmp_path)
    margins, firsts = loops(range(40))
    every = [value for own in margins.values() for value in own.values()]
    facts = of.facts
    assert facts["pairs"] == len(every) and facts["queries"] == len(firsts)
    assert facts["least_margin"] == pytest.approx(min(every)) and facts["docs"] == 40
    longest = [int((rows > 0).sum(axis=1).max()) for rows in (QUERIES[[*firsts]], DOCS)]
    assert facts["most_terms"] == dict(zip(("query", "doc"), longest, strict=True))
    least: dict[tuple[float, int], int | None] = {}
    assert facts["beyond_bins"] + of.pairs.unique("margin")["pairs"].sum() == len(every)
    for line in of.pairs.iter_rows(named=True):
        inside = {
            (n, i): value
            for n, own in margins.items()
            for i, value in own.items()
            if line["from"] <= 1 / (value**2 / 2 - value**3 / 3) < line["to"]
        }
        assert line["pairs"] == len(inside)
        assert line["margin"] == pytest.approx(np.mean([*inside.values()]))
        shares = []
        for seed in (4, 5):
            wrong = turned(margins, firsts, line["dimensions"], seed)
            shares.append(sum(i in wrong[n] for n, i in inside) / len(inside))
            enough = shares[-1] <= 0.2
            least[line["x"], seed - 3] = least.get((line["x"], seed - 3)) or (
                line["dimensions"] if enough else None
            )
        shown = [line[name] for name in ("error", "error_least", "error_most")]
        assert shown == pytest.approx([np.mean(shares), min(shares), max(shares)])
    assert {(x, draw): k for x, draw, k in of.draws.iter_rows()} == least
    lengths = (DOCS > 0).sum(axis=1)
    ordered = sorted((int(lengths[i]), i) for i in range(40) if lengths[i])
    groups = {"all": list(range(40))}
    for start, end in ((0, 14), (14, 27), (27, 40)):  # thirds of 40: 14, 13 and 13
        part = ordered[start:end]
        groups[f"{part[0][0]}-{part[-1][0]}"] = [i for _, i in part]
    assert facts["lengths"] == {n: len(part) for n, part in groups.items() if n != "all"}
    for name, rows in groups.items():
        margins, firsts = loops(rows)
        own = of.margins.filter(length=name)
        expected = {
            (f"q{n}", r): sorted(of.values())[r - 1]
            for n, of in margins.items()
            for r in (1, 2, 3)
            if len(of) >= r
        }
        shown = {(q, r): m for _, q, r, m in own.iter_rows()}
        assert shown == pytest.approx(expected)
        for line in of.recall.filter(length=name).iter_rows(named=True):
            assert line["docs"] == len(rows) and line["queries"] == len(firsts)
            k = line["dimensions"]
            wrong = {seed: turned(margins, firsts, k, seed).values() for seed in (4, 5)}
            kept = [np.mean([len(own) < 2 for own in of_seed]) for of_seed in wrong.values()]
            assert line["recall"] == pytest.approx(np.mean(kept))
            assert [line["recall_least"], line["recall_most"]] == pytest.approx(sorted(kept))
    assert of.recall["length"].unique(maintain_order=True).to_list() == [*groups]


def test_groups_by_length_have_equally_many_docs_whatever_the_lengths() -> None:
    job = Fidelity.model_validate(SPEC | {"groups": 4, "description": ""})
    lengths = np.array([0, *range(1, 10), *[30] * 11])
    ids = np.array([f"d{n:02}" for n in range(len(lengths))], dtype=object)
    made = fidelity.by_length(job, lengths, ids)
    # 20 docs with terms: five of 1 to 5 terms, five of 6 to 30, and two groups of 30 alone
    assert {name: [*rows] for name, rows in made.items()} == {
        "1-5": [1, 2, 3, 4, 5], "6-30": [6, 7, 8, 9, 10], "30-30": [*range(11, 21)],
    }  # fmt: skip
    assert fidelity.by_length(job, lengths[:6], ids[:6]) == {}, "a group needs more than depth 2"


def test_bytes_do_not_depend_on_threads(tmp_path: Path) -> None:
    measured(tmp_path)
    arguments = made(tmp_path) | {"output": tmp_path / "again"}
    fidelity.measure(**arguments, spec=json.dumps(SPEC), threads=3)
    for name in ("pairs.tsv", "margins.tsv", "recall.tsv"):
        again = (tmp_path / "again" / name).read_bytes()
        assert again == (tmp_path / "made" / name).read_bytes()


def test_bins_of_few_pairs_are_left_out_and_counted(tmp_path: Path) -> None:
    whole = measured(tmp_path / "whole").pairs.unique("margin", maintain_order=True)["pairs"]
    of = measured(tmp_path, fewest=max(whole))
    assert of.pairs["pairs"].unique().to_list() == [max(whole)]
    assert of.facts["in_small_bins"] == sum(n for n in whole if n < max(whole)) > 0


def test_boolean_vectors_have_ones_and_corollary_2(tmp_path: Path) -> None:
    facts = measured(tmp_path, present=True).facts
    product = facts["most_terms"]["query"] * facts["most_terms"]["doc"]
    assert facts["boolean_dimensions"] == pytest.approx(24 * product * math.log(4 / 0.2))
    assert facts["least_margin"] >= (2 * product) ** -0.5


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    arguments = made(tmp_path)
    with pytest.raises(ResiduumError, match="given shards 1 of 2; name each of the 2 shards once"):
        fidelity.measure(**arguments | {"docs": arguments["docs"][1:]}, spec=json.dumps(SPEC))
    assert not (tmp_path / "made").exists()
    none = made(tmp_path / "none", queries=QUERIES * 0)
    with pytest.raises(ResiduumError, match="no query shares a term with a doc"):
        fidelity.measure(**none, spec=json.dumps(SPEC))
    wrong = SPEC | {"dimensions": {"few": [9], "step": 8, "most": 24}}
    with pytest.raises(ResiduumError, match="few must rise and end below step"):
        fidelity.measure(**arguments, spec=json.dumps(wrong))
    wrong = SPEC | {"nearest": [1, 3]}
    with pytest.raises(ResiduumError, match="nearest has to hold depth, 2"):
        fidelity.measure(**arguments, spec=json.dumps(wrong))
    measured(tmp_path)
    path = tmp_path / "made" / "recall.tsv"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ResiduumError, match=r"recall\.tsv"):
        fidelities.read(tmp_path / "made")


def test_command_prints_least_dimensions(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "fidelity" / "cacm" / "test"
    with pytest.raises(ResiduumError, match=r"not measured yet.*--config scale=results -- .*cacm"):
        inspect.show(tmp_path / "results", "cacm/test", "luan2021")
    with pytest.raises(ResiduumError, match="name a split as <dataset>/<split>"):
        inspect.show(tmp_path / "results", "cacm", "luan2021")
    of = measured(tmp_path)
    folder.mkdir(parents=True)
    (tmp_path / "made").rename(folder / "luan2021")
    with pytest.raises(
        ResiduumError, match=r"yet; on cacm/test there are luan2021 \(--of luan2021"
    ):
        inspect.show(tmp_path / "results", "cacm/test", "whole")
    (tmp_path / "results" / "data" / "cacm" / "test").mkdir(parents=True)
    (tmp_path / "results" / "data" / "cacm" / "test" / "queries.tsv").touch()
    with pytest.raises(ResiduumError, match=r"no split cacm/tset\. Did you mean cacm/test\?"):
        inspect.show(tmp_path / "results", "cacm/tset", "whole")
    lines = inspect.show(tmp_path / "results", "cacm/test", "luan2021").splitlines()
    assert "40 docs" in lines[0] and "2 rademacher projections" in lines[0]
    recalls = of.recall.filter(length="all").rows(named=True)
    least = next((r["dimensions"] for r in recalls if r["recall"] >= 0.9), None)
    [line] = [line for line in lines if line.startswith("| all")]
    assert line.split("|")[-3].strip() == (str(least) if least else "> 24")

"""Audit many runs: which of their ranks the queries, or the collections, can tell apart.

Usage: `report([Path("leaderboard")], "nDCG@10", ...)` on a folder, qrels and runs, a table of
values, or columns of a results folder; `audited(values)` on values by system, collection and query.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from residuum.artefacts import files, trec
from residuum.cli import scalars
from residuum.cli.errors import ResiduumError, unknown
from residuum.collections import forms
from residuum.collections.files import read_qrels
from residuum.collections.recognising import ASIDE
from residuum.config.measures import is_tested
from residuum.inspect import comparing, explaining, provenance
from residuum.inspect.addressing import Cell, every
from residuum.inspect.text import by_reason
from residuum.pages import drawing, layout
from residuum.pages.layout import Layout, TextCell
from residuum.paired.audits import MOST_GROUPS, Audit, audit, groups
from residuum.paired.strata import Strata

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Over = Literal["queries", "collections"]
QRELS = "qrels"
LONG = {  # columns of a table with a line for each value; a collection may lack
    "system": ("system", "run", "model"),
    "query": ("query_id", "query", "qid"),
    "value": ("value", "score"),
}
COLLECTION = ("collection", "dataset", "task")
SCHEMA = {"system": pl.String, "collection": pl.String, "query": pl.String, "value": pl.Float64}
SUMMARY = re.compile(r"(macro|micro)?[ _-]?(average|avg\.?|mean|overall|rank|borda).*")  # columns
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_NAMED = 8  # systems or queries in a message
LINE = 0.17  # inches of a system's line
WAYS = (
    "Give a folder (qrels and runs, or a folder of both for each collection), qrels and runs, a "
    "table of values, or PAPER/PAGE/COLUMN of results"
)


@dataclass(frozen=True)
class Audited:
    """Systems with their means, and what can be said of their order."""

    systems: Sequence[str]
    made: Audit
    what: str  # of the values
    over: Over
    remarks: Sequence[str]

    def table(self) -> pl.DataFrame:
        """Return a line for each system, from the first rank on: all numbers, unrounded."""
        order, made = self.made.order, self.made
        lead = [made.means[a] - made.means[b] for a, b in self._adjacent()]
        detectable = [
            float(made.detectable[pair]) if made.errors[pair] else None for pair in self._adjacent()
        ]
        return pl.DataFrame(
            {
                "rank": range(1, len(order) + 1),
                "system": [self.systems[one] for one in order],
                "mean": made.means[order],
                "rank_low": made.low[order],
                "rank_high": made.high[order],
                "groups": [*map(" ".join, self._letters())],
                "lead": [*map(float, lead), None],
                "lead_apart": [*(bool(made.apart[pair]) for pair in self._adjacent()), None],
                "lead_apart_alone": [*(bool(made.alone[pair]) for pair in self._adjacent()), None],
                "detectable": [*detectable, None],
            }
        )

    def _adjacent(self) -> list[tuple[int, int]]:
        return [*pairwise(self.made.order)]

    def _letters(self) -> list[list[str]]:
        """Return the groups of each system in order, by letters: behind z come za, zb and so on."""
        order = self.made.order
        held: dict[int, list[str]] = {one: [] for one in order}
        for number, group in enumerate(groups(self.made.apart, order)):
            times, letter = divmod(number, len(LETTERS))
            for one in group:
                held[one].append("z" * times + LETTERS[letter])
        return [*held.values()]

    def page(self) -> Layout:
        """Lay out a system on each line, and say below what the table can tell."""
        header = ["Rank", "System", "mean", "95% of ranks", "groups", "lead over\nthe next"]
        header += ["detectable\nlead"]
        rows, table = [], self.table()
        for line in table.iter_rows(named=True):
            low, high, letters = line["rank_low"], line["rank_high"], line["groups"].split()
            lead = "" if line["lead"] is None else f"{line['lead']:.4f}"
            texts = [
                str(line["rank"]),
                line["system"],
                f"{line['mean']:.4f}",
                f"{low}" if low == high else f"{low}{layout.DASH}{high}",
                ("" if max(map(len, letters), default=1) == 1 else " ").join(letters),
            ]
            bold = ((0, len(lead)),) * bool(line["lead_apart"])
            detectable = "" if line["detectable"] is None else f"{line['detectable']:.4f}"
            rows.append([*map(TextCell, texts), TextCell(lead, bold=bold), TextCell(detectable)])
        return Layout("Audit", self.what, header, rows, self._notes(table), "rlrlcrr")

    def _notes(self, table: pl.DataFrame) -> list[str]:
        number, made = len(self.systems), self.made
        apart, alone = (table[name].sum() for name in ("lead_apart", "lead_apart_alone"))
        first = table.filter(rank_low=1)["system"].to_list()
        pairs = np.triu_indices(number, 1)
        drawn = "; the collections are these" if self.over == "queries" else ", with their queries"
        notes = [
            f"Of {number - 1} leads over the next system, {apart} are certain (bold), all "
            f"{len(pairs[0])} pairs taken together. {alone} would be if each were the only pair "
            "tested.",
            f"Rank 1 may be of {_listed(first)}.",
            f"A true difference of {np.median(made.detectable[pairs]):.4f} would be found four "
            "times in five, for the median of all pairs; of each lead, the last column says which.",
            "95% of ranks: bounds of a system's true rank, for each system by itself (Mogstad et "
            f"al. 2024). Other {self.over} could have been drawn{drawn}.",
            "groups: no two systems of a letter are certain to differ, all pairs taken together.",
        ]
        if not table["groups"].str.len_chars().sum():
            notes[-1] = f"groups: more than {MOST_GROUPS}, so that none is shown."
        same = [
            f"{self.systems[a]} and {self.systems[b]}"
            for a, b in combinations(made.order, 2)
            if not made.errors[a, b] and made.means[a] == made.means[b]
        ]
        if same:
            notes.append(f"The same values for all {self.over}: {_listed(same)}.")
        return [*notes, *self.remarks]

    def plots(self) -> list[drawing.Plot]:
        """Return the picture: each system's rank, and the bounds of its true rank."""
        table = self.table()

        def plot(ax: "Axes") -> drawing.Legend:
            for rank, low, high, sure in table.select(
                "rank", "rank_low", "rank_high", "lead_apart"
            ).iter_rows():
                ax.plot([low, high], [rank, rank], color="#0072B2", linewidth=2, alpha=0.6)
                ax.plot([rank], [rank], "o", color="black", markersize=3)
                if sure:
                    ax.axhline(rank + 0.5, color="#D55E00", linewidth=0.6, linestyle="--")
            names = [drawing.plain(name) for name in table["system"]]
            ax.set_yticks(table["rank"].to_list(), names, fontsize=7)
            ax.set_ylim(table.height + 0.6, 0.4)
            ax.set_xlim(0.4, table.height + 0.6)
            ax.locator_params(axis="x", integer=True)
            ax.set_xlabel("rank, and 95% of true ranks")
            return {}

        return [plot]

    def height(self) -> float:
        """Return the height of the picture in inches."""
        return 0.6 + LINE * max(len(self.systems), 4)


def _listed(names: Sequence[str]) -> str:
    """Return the first of some names, and how many others there are."""
    more = f" and {len(names) - MOST_NAMED} others" * (len(names) > MOST_NAMED)
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def report(
    sources: Sequence[str],
    measure: str,
    over: Over = "queries",
    missing: Literal["refuse", "zero"] = "refuse",
    results: Path | None = None,
    resamples: int = 9999,
    seed: int = 1,
    form: Literal["markdown", "latex"] = "markdown",
    output: Path | None = None,
    picture: Path | None = None,
    workers: int = 1,
) -> str:
    """Return the page of an audit; write its numbers to `output`, and pictures beside `picture`.

    `results` is the results folder of sources that name columns of pages.
    """
    values, what, remarks = read(sources, measure, missing, results)
    made = audited(values, what, over, resamples, seed, remarks, workers)
    if output:
        files.write_text(output, made.table().write_csv(separator="\t"))
    if picture:
        drawing.save_plots(picture, made.plots(), made.height())
    return layout.together({"audit": made.page()}, form)


def audited(
    values: pl.DataFrame,
    what: str,
    over: Over = "queries",
    resamples: int = 9999,
    seed: int = 1,
    remarks: Sequence[str] = (),
    workers: int = 1,
) -> Audited:
    """Audit values of columns system, collection, query and value, a line each.

    All systems have values of the same queries. Collections count alike. With `over` collections
    these are drawn, and each counts by its mean.
    """
    units = values.select("collection", "query").unique().sort("collection", "query")
    counts = values.group_by("system", maintain_order=True).len()
    lacking = counts.filter(pl.col("len") != units.height)["system"].to_list()
    if lacking:
        gone = units.join(values.filter(system=lacking[0]), on=["collection", "query"], how="anti")
        collection, query = gone.row(0)
        raise ResiduumError(
            f"{lacking[0]}: no value of query {query}{f' of {collection}' * bool(collection)}, "
            f"which others have ({len(lacking)} of {counts.height} systems lack some)"
        )
    systems = counts["system"].to_list()
    table = values.pivot(on="system", index=["collection", "query"], values="value")
    table = table.sort("collection", "query")
    matrix = table.select(systems).to_numpy().T.copy()
    names = table["collection"].to_list()
    number = len(set(names))
    means = number > 1 and units.height == number
    if means and over == "queries":
        raise ResiduumError("each system has a mean of each collection; give --over collections")
    counted = f"{number} collections" if means else f"{units.height:,} queries"
    if number > 1 and not means:
        counted += f" of {number} collections, which count alike"
    notes = [f"{len(systems)} systems, {counted}.", *remarks]
    if over == "collections":
        if number < 3:
            raise ResiduumError(f"--over collections: {number} collections; an audit needs three")
        matrix = np.array([[row[[n == one for n in names]].mean() for one in dict.fromkeys(names)]
                           for row in matrix])  # fmt: skip
    strata = Strata(names) if number > 1 and over == "queries" else None
    if strata and not strata.tell_variance:
        raise ResiduumError("a collection has fewer than 10 queries; try --over collections")
    made = audit(matrix, strata, resamples, seed, workers)
    return Audited(systems, made, what, over, notes)


def are_pages(sources: Sequence[str]) -> bool:
    """Say whether sources are addresses of pages: no files, and each with a slash within."""
    named = ("/" in source.strip("/") and source[0] not in "./" for source in sources)
    return all(named) and not any(Path(source).exists() for source in sources)


def read(
    sources: Sequence[str],
    measure: str,
    missing: Literal["refuse", "zero"],
    results: Path | None = None,
) -> tuple[pl.DataFrame, str, list[str]]:
    """Return values of columns system, collection, query and value, what they are, and remarks."""
    if not sources:
        raise ResiduumError(f"nothing to audit. {WAYS}.")
    paths = [Path(source) for source in sources]
    if results and are_pages(sources):
        return of_columns(results, sources)
    if absent := [path for path in paths if not path.exists()]:
        raise ResiduumError(f"{absent[0]}: no such file or folder. {WAYS}.")
    if len(paths) == 1 and paths[0].is_dir():
        return of_folder(paths[0], measure, missing)
    if len(paths) == 1:
        return of_table(paths[0])
    if folders := [path for path in paths if path.is_dir()]:
        raise ResiduumError(f"{folders[0]}: a folder among {len(paths)} sources. {WAYS}.")
    judged = read_qrels(paths[0])
    values, remarks = _measured(judged, paths[1:], measure, missing)
    return values, f"means of {measure}", remarks


def of_folder(
    folder: Path, measure: str, missing: Literal["refuse", "zero"]
) -> tuple[pl.DataFrame, str, list[str]]:
    """Read a folder of qrels and runs, or of such a folder for each collection."""
    folders = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    inner, parts, remarks = [path for path in folders if _qrels(path)], [], list[str]()
    if inner and _qrels(folder):
        text = "qrels of its own and folders with qrels; move one of them away"
        raise ResiduumError(f"{folder}: {text}: {', '.join(path.name for path in inner)}")
    if inner and len(inner) < len(folders):
        without = ", ".join(path.name for path in folders if path not in inner)
        remarks.append(f"Not read, because no file of it says qrels: {without}.")
    for of_one in inner or [folder]:
        judgements = _qrels(of_one)
        if len(judgements) != 1:
            has = ", ".join(path.name for path in judgements) or "none"
            text = f"one file of judgements, whose name says qrels, is needed; there is {has}"
            raise ResiduumError(f"{of_one}: {text}. {WAYS}.")
        files_of_one = [path for path in sorted(of_one.iterdir()) if path.is_file()]
        aside = [path for path in files_of_one if ASIDE.fullmatch(path.name.lower())]
        runs = [p for p in files_of_one if p not in [*judgements, *aside] and p.name[0] != "."]
        name = of_one.name if inner else ""
        values, more = _measured(read_qrels(judgements[0]), runs, measure, missing, name)
        parts.append(values)
        remarks += [f"{name}: {text}" if name else text for text in more]
    return of_all(parts, remarks), f"means of {measure}", remarks


def of_all(parts: Sequence[pl.DataFrame], remarks: list[str]) -> pl.DataFrame:
    """Return the values of the systems that all collections have; a remark names the others."""
    if not parts:
        raise ResiduumError(f"no collection to audit. {WAYS}.")
    made = pl.concat(parts)
    counts = made.group_by("system", maintain_order=True).agg(pl.col("collection").n_unique())
    partial = counts.filter(pl.col("collection") < len(parts))["system"].to_list()
    if partial:
        remarks.append(f"Left out, because a collection lacks them: {_listed(partial)}.")
    made = made.filter(~pl.col("system").is_in(partial))
    if made["system"].n_unique() < 2:
        raise ResiduumError("fewer than two systems have a run of every collection")
    return made


def one_measure(texts: Sequence[str]) -> str:
    """Return the measure that texts name, and refuse several."""
    names = comparing.split(texts)
    if len(names) > 1:
        raise ResiduumError(f"--measure {' '.join(names)}: an audit is of one measure")
    return names[0]


def _qrels(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and QRELS in path.name]


def _measured(
    judged: pl.DataFrame,
    runs: Sequence[Path],
    measure: str,
    missing: Literal["refuse", "zero"],
    collection: str = "",
) -> tuple[pl.DataFrame, list[str]]:
    """Return the values of runs on the judged queries, and remarks."""
    measure = one_measure([measure])
    if not is_tested(measure):
        raise ResiduumError(f"--measure {measure}: its mean is no mean over queries")
    named, (_, *remarks) = comparing.read(runs, judged, missing)
    if not named:
        raise ResiduumError(f"no run beside the judgements. {WAYS}.")
    return valued(judged, named, measure, collection), remarks


def valued(
    judged: pl.DataFrame, runs: Mapping[str, pl.DataFrame], measure: str, collection: str
) -> pl.DataFrame:
    """Return the values of runs that `comparing.restricted` returned, as `audited` takes them."""
    scores = comparing.measured(judged, runs, [measure])
    texts = {name: SCHEMA[name] for name in ("query", "value")}
    parts = [
        pl.DataFrame({"query": matrix.query_ids, "value": matrix.values[:, 0]}, texts).select(
            pl.lit(run).alias("system"), pl.lit(collection).alias("collection"), pl.all()
        )
        for (run, _), matrix in scores.items()
    ]
    return pl.concat(parts)


def of_table(path: Path) -> tuple[pl.DataFrame, str, list[str]]:
    """Read a table: a line for each system and query, or a column of means for each collection."""
    named = forms.named(path)
    records = [record for _, record in forms.records(path)] if named else _tsv_records(path)
    return of_records(str(path), records)


def _tsv_records(path: Path) -> list[Mapping[str, object]]:
    try:
        table = pl.read_csv(path, separator="\t", infer_schema=False, quote_char=None)
        return [*table.iter_rows(named=True)]
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ResiduumError(f"{path}: no table of tab-separated values: {error}") from None


def of_records(
    where: str, records: Sequence[Mapping[str, object]]
) -> tuple[pl.DataFrame, str, list[str]]:
    """Return the values of a table, whose records have the same keys; `where` is for messages."""
    if not records:
        raise ResiduumError(f"{where}: a table without a line")
    columns = [str(name) for name in records[0]]
    system = _column(columns, LONG["system"], where)
    query = next((name for name in LONG["query"] if name in columns), None)
    value = next((name for name in LONG["value"] if name in columns), None)
    lines: list[tuple[object, ...]] = []
    if query and value:
        collection = next((name for name in COLLECTION if name in columns), "")
        what = "means over queries"
        for record in records:
            ids = [_id(record, key, where) if key else "" for key in (system, collection, query)]
            at = f"{where}: {ids[0]}, {ids[2]}"
            lines.append((*ids, scalars.finite(record.get(value), value, at)))
    else:
        means = [name for name in columns if name != system]
        what = f"means over collections ({', '.join(means)})"
        if odd := [name for name in means if SUMMARY.fullmatch(name.lower())]:
            text = "sums up the others; leave it out, so that it is no collection"
            raise ResiduumError(f"{where}: a column {odd[0]} {text}")
        for record in records:
            own = _id(record, system, where)
            numbers = ((name, scalars.finite(record.get(name), name, f"{where}: {own}"))
                       for name in means)  # fmt: skip
            lines += [(own, name, "", number) for name, number in numbers]
    made = pl.DataFrame(lines, schema=SCHEMA, orient="row")
    twice = made.group_by("system", "collection", "query").len().filter(pl.col("len") > 1)
    if twice.height:
        named = ", ".join(filter(None, sorted(twice.drop("len").rows())[0]))
        raise ResiduumError(f"{where}: two values of {named}")
    return made, what, []


def _column(columns: Sequence[str], names: Sequence[str], where: str) -> str:
    found = next((name for name in names if name in columns), None)
    if found is None:
        has = ", ".join(columns[:MOST_NAMED])
        text = f"no column {names[0]} (or {', '.join(names[1:])}); it has {has}"
        need = "A line has system, query_id and value, or system and a mean for each collection"
        raise ResiduumError(f"{where}: {text}. {need}.")
    return found


def _id(record: Mapping[str, object], column: str, where: str) -> str:
    """Return the text in a column of ids; a system's may hold white space."""
    value = record.get(column)
    if isinstance(value, str) and value.strip():
        return value
    return scalars.identifier(value, column, where)


def of_columns(results: Path, names: Sequence[str]) -> tuple[pl.DataFrame, str, list[str]]:
    """Return the values behind columns of pages, PAPER/PAGE/COLUMN or PAPER/PAGE for all of it.

    Values are means over seeds. Rows without a number in one of the columns are left out.
    """
    cells = [cell for _, _, some in every(results, provenance.read(results)) for cell in some]
    columns: dict[str, list[Cell]] = {}
    for cell in cells:
        paper, page, _, column = cell.address.split("/", 3)
        columns.setdefault(f"{paper}/{page}/{column}", []).append(cell)
    chosen = dict[str, list[Cell]]()
    for name in names:
        fitting = {
            one: of_one for one, of_one in columns.items() if f"{one}/".startswith(f"{name}/")
        }
        if not fitting:
            raise ResiduumError(unknown("file, folder, page or column", name, columns))
        chosen |= fitting
    if len(found := dict.fromkeys(some[0].line.measure for some in chosen.values())) > 1:
        text = f"columns of {', '.join(found)}; name those of one measure, as {next(iter(chosen))}"
        raise ResiduumError(f"{', '.join(names)}: {text}")
    splits = [some[0].line.split_ref for some in chosen.values()]
    if twice := [split for split in splits if splits.count(split) > 1]:
        text = f"several columns are of {twice[0]}, which would count it twice; name one of them"
        raise ResiduumError(f"{', '.join(names)}: {text}: {', '.join(chosen)}")
    read, parts, left = cache(trec.read_metrics), list[pl.DataFrame](), list[tuple[str, str]]()
    for column, of_one in chosen.items():
        labels = of_one[0].page.entry.labels()
        for cell in of_one:
            row = cell.line.row
            again = [*labels.values()].count(labels[row]) > 1
            label = f"{labels[row]} ({row})" if again else labels[row]
            values = explaining.values(cell, read)
            if values.is_empty():
                why = cell.line.not_run or "it has no value for each query"
                left.append((why, label))
            else:
                key = pl.lit(label).alias("system"), pl.lit(column).alias("collection")
                parts.append(values.select(*key, pl.col("query_id").alias("query"), "value"))
    made = pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)
    made = made.filter(~pl.col("system").is_in([label for _, label in left]))
    if made["system"].n_unique() < 2:
        raise ResiduumError(f"{', '.join(names)}: fewer than two rows have values of every column")
    what = ", ".join(
        f"{some[0].line.measure} on {some[0].line.split_ref}" for some in chosen.values()
    )
    remarks = [f"Left out: {text}." for text in by_reason(left)]
    if any((cell.line.seeds or 1) > 1 for some in chosen.values() for cell in some):
        remarks.append("Values are means over seeds: other trainings could have other ranks.")
    return made, f"means of {what}", remarks

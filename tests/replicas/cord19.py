"""The replica of CORD-19 as released on 1 May 2020: metadata, full release, TREC-COVID rounds 1, 2.

Usage: `write(home)`. Releases before 12 May 2020 hold the parses in one tar per subset and say in
the metadata whether there is one (True, False); later ones hold them in one tar and name the
files: `layout="parses"`. The columns, and arxiv among the subsets, are those that Capreolus and
Pyserini's guide of that week expect. Must not know how anything reads it.
"""

import csv
import hashlib
import io
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

from replicas import packing
from replicas.truth import Replica, papers

NAME = "cord19"
DATE = "2020-05-01"
RELEASE = f"cord-19_{DATE}.tar.gz"
ROUND = f"{NAME}/trec-covid/round2"
EARLIER = f"{NAME}/trec-covid/round1"
SUBSETS = ["biorxiv_medrxiv", "comm_use_subset", "noncomm_use_subset", "custom_license", "arxiv"]
COLUMNS = ["cord_uid", "sha", "source_x", "title", "doi", "pmcid", "pubmed_id", "license",
           "abstract", "publish_time", "authors", "journal"]  # fmt: skip
OLD = [*COLUMNS, "Microsoft Academic Paper ID", "WHO #Covidence", "arxiv_id", "has_pdf_parse",
       "has_pmc_xml_parse", "full_text_file", "url"]  # fmt: skip
NEW = [*COLUMNS, "mag_id", "who_covidence_id", "arxiv_id", "pdf_json_files", "pmc_json_files",
       "url"]  # fmt: skip


class Paper(NamedTuple):
    """One row: its metadata, and its parses as {path within the subset: sections}."""

    row: dict[str, str]
    subset: str
    parses: dict[str, list[tuple[str, str]]]
    body: list[tuple[str, str]]


def write(home: Path, layout: str = "subsets") -> Replica:
    """Write metadata, release, topics and judgements into a home of ir_datasets.

    Returns one doc per row of the metadata; four papers stand twice. `body` is a list of
    (section, text), from the PMC parse where there is one, else from the first PDF, else empty.
    """
    source = papers()
    uids = _uids(len(source.docs))
    rows = [_paper(i, uids[i], fields) for i, (_, fields) in enumerate(source.docs)]
    rows += [_again(paper) for paper in rows[10:50:10]]
    metadata = _metadata(rows, layout)
    base = home / NAME
    packing.plain(base / DATE / "metadata.csv", metadata)
    members = {"changelog": f"{DATE}\n", "metadata.csv": metadata, **_tars(rows, layout)}
    packing.tar_gz(base / RELEASE, {f"{DATE}/{name}": data for name, data in members.items()})
    uid = {doc_id: uids[i] for i, (doc_id, _) in enumerate(source.docs)}
    number = {q: str(i + 1) for i, (q, _) in enumerate(source.queries["judged"])}
    topics, qrels = {}, {}
    for batch, (split, name) in enumerate({"earlier": EARLIER, "judged": ROUND}.items(), 1):
        topics[name] = {number[q]: text for q, text in source.queries[split]}
        qrels[name] = [(number[q], uid[doc], level) for q, doc, level in source.qrels[split]]
        packing.plain(home / name / "queries.xml", _topics(topics[name], batch))
        lines = (_judgement(*row, batch) for row in qrels[name])
        packing.plain(home / name / "qrels", "".join(lines))
    return Replica(NAME, [_doc(paper) for paper in rows], topics, qrels)


def _doc(paper: Paper) -> tuple[str, dict[str, Any]]:
    row = paper.row
    fields = {"title": row["title"], "doi": row["doi"], "date": row["publish_time"]}
    return row["cord_uid"], {**fields, "abstract": row["abstract"], "body": paper.body}


def _uids(count: int) -> list[str]:
    """Ids such as ug7v899j: eight of letters and digits."""
    rng = random.Random(5)
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=8)) for _ in range(count)]


def _paper(number: int, uid: str, fields: dict[str, str]) -> Paper:
    sha, other = (hashlib.sha1(f"{uid}/{n}".encode()).hexdigest() for n in range(2))
    pmcid = f"PMC{100000 + number}" if number % 3 == 0 else ""
    pdfs = [[sha], [sha, other], [sha], []][number % 4]
    subset = SUBSETS[number % 5] if pdfs or pmcid else ""
    sections = _sections(fields["body"])
    parses = {f"pdf_json/{name}.json": [("", f"Page 1 {sections[0][1]}"), *sections[1:]]
              for name in pdfs}  # fmt: skip
    parses |= {f"pmc_json/{pmcid}.xml.json": sections} if pmcid else {}
    body = parses[list(parses)[-1 if pmcid else 0]] if parses else []
    return Paper(_row(number, uid, fields, pmcid, pdfs, subset), subset, parses, body)


def _row(number: int, uid: str, fields: dict[str, str], pmcid: str, pdfs: list[str],
         subset: str) -> dict[str, str]:  # fmt: skip
    abstract = "" if number % 10 == 4 else fields["abstract"]
    if number % 7 == 2:  # with line breaks, as structured abstracts have
        abstract = "BACKGROUND: " + abstract.replace(". ", ".\n")
    title = f'{fields["title"]}, a "pilot"' if number % 9 == 5 else fields["title"]
    return {
        "cord_uid": uid, "sha": "; ".join(pdfs), "source_x": "PMC" if pmcid else "WHO",
        "title": title, "doi": f"10.1000/{uid}", "pmcid": pmcid, "license": "cc-by",
        "abstract": abstract, "publish_time": ["2020", f"2020-04-{number % 28 + 1:02}"][number % 2],
        "authors": "Núñez, José; O'Neil, Ann", "journal": "J. Invented Med.",
        "has_pdf_parse": str(bool(pdfs)), "has_pmc_xml_parse": str(bool(pmcid)),
        "full_text_file": subset, "url": f"https://doi.org/10.1000/{uid}",
    }  # fmt: skip


def _sections(body: str) -> list[tuple[str, str]]:
    """Return sentences as paragraphs, two to each, under the headings of a paper."""
    sentences = body.split(". ")
    pairs = [". ".join(sentences[i : i + 2]) for i in range(0, len(sentences), 2)]
    headings = ["Introduction", "Methods", "Results", "Results", "Discussion"]
    return [(headings[min(i, 4)], text) for i, text in enumerate(pairs)]


def _again(paper: Paper) -> Paper:
    """The same paper from another source, without abstract and parses."""
    changes = {"source_x": "Elsevier", "abstract": "", "sha": "", "pmcid": "", "full_text_file": ""}
    flags = {"has_pdf_parse": "False", "has_pmc_xml_parse": "False"}
    return Paper(paper.row | changes | flags, "", {}, [])


def _metadata(rows: list[Paper], layout: str) -> str:
    buffer = io.StringIO()
    columns = OLD if layout == "subsets" else NEW
    writer = csv.DictWriter(buffer, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: "" for column in columns} | _named(paper) for paper in rows)
    return buffer.getvalue()


def _named(paper: Paper) -> dict[str, str]:
    kinds = {kind: [f"document_parses/{p}" for p in paper.parses if p.startswith(kind)]
             for kind in ("pdf_json", "pmc_json")}  # fmt: skip
    return paper.row | {f"{kind}_files": "; ".join(paths) for kind, paths in kinds.items()}


def _tars(rows: list[Paper], layout: str) -> dict[str, bytes]:
    tars: dict[str, dict[str, str]] = {}
    for paper in rows:
        folder = paper.subset if layout == "subsets" else "document_parses"
        for path, sections in paper.parses.items():
            tars.setdefault(folder, {})[f"{folder}/{path}"] = _parse(paper.row, path, sections)
    names = sorted(SUBSETS) if layout == "subsets" else ["document_parses"]
    return {f"{name}.tar.gz": packing.tar_gz_bytes(tars[name]) for name in names}


def _parse(row: dict[str, str], path: str, sections: list[tuple[str, str]]) -> str:
    body = [
        {"text": text, "cite_spans": [], "ref_spans": [], "section": section}
        for section, text in sections
    ]
    record: dict[str, Any] = {"paper_id": path.rpartition("/")[2].partition(".")[0]}
    record["metadata"] = {"title": row["title"], "authors": []}
    if path.startswith("pdf_json"):  # parses of PMC's XML have none
        record["abstract"] = [{"text": row["abstract"], "section": "Abstract"}]
    rest = {"body_text": body, "bib_entries": {}, "ref_entries": {}, "back_matter": []}
    return json.dumps(record | rest, indent=4)


def _topics(topics: dict[str, str], batch: int) -> str:
    """Topics as NIST's topics-rnd2.xml has them, line ends of DOS included."""
    lines = [f'<topics task="COVIDSearch 2020" batch="{batch}">']
    for number, question in topics.items():
        lines += [
            f'  <topic number="{number}">',
            f"    <query>{_keywords(question)}</query>",
            f"    <question>{question}</question>",
            f"    <narrative>looking for studies: {question}</narrative>",
            "  </topic>",
        ]
    return "\r\n".join([*lines, "</topics>", ""])


def _keywords(question: str) -> str:
    return " ".join(word for word in question.split() if len(word) > 4)


def _judgement(query_id: str, uid: str, level: int, batch: int) -> str:
    """A line as NIST has it: the half round that judged it, and two spaces."""
    return f"{query_id} {f'{batch - 0.5}' if int(query_id) % 2 else batch}  {uid} {level}\n"

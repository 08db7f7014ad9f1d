"""The replica of PubMed's files and of BioASQ's, in the forms that NLM and BioASQ document.

Usage: `write(folder)` writes pubmed/*.xml.gz with their MD5 and questions of task B; it returns
what a reader should find. Must not know how anything reads it.
"""

import gzip
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<!DOCTYPE PubmedArticleSet SYSTEM "http://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_190101.dtd">\n'
)
URL = "http://www.ncbi.nlm.nih.gov/pubmed/"


class Replica(NamedTuple):
    """What a reader should find: docs newest file first, questions and their gold docs."""

    docs: list[tuple[str, dict[str, str]]]
    queries: dict[str, str]
    qrels: list[tuple[str, str, int]]


def article(pmid: int, title: str, *parts: str, version: int = 1, more: str = "") -> str:
    """Return a record; parts of the abstract are XML as they stand."""
    abstract = f"<Abstract>{''.join(parts)}{more}</Abstract>" if parts else ""
    return (
        "<PubmedArticle>\n"
        f'<MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="{version}">{pmid}</PMID>\n'
        f'<Article PubModel="Print"><Journal><Title>Journal</Title></Journal>'
        f"<ArticleTitle>{title}</ArticleTitle>{abstract}</Article>\n"
        '<OtherAbstract Type="Publisher"><AbstractText>Resumen.</AbstractText></OtherAbstract>'
        f'<CommentsCorrectionsList><CommentsCorrections RefType="Cites"><PMID Version="1">1</PMID>'
        "</CommentsCorrections></CommentsCorrectionsList></MedlineCitation>\n"
        f'<PubmedData><ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId></ArticleIdList>'
        "</PubmedData></PubmedArticle>\n"
    )


def part(text: str, label: str = "") -> str:
    """Return a part of an abstract."""
    named = f' Label="{label}" NlmCategory="{label}"' if label else ""
    return f"<AbstractText{named}>{text}</AbstractText>"


def pack(path: Path, *items: str) -> Path:
    """Write a file of records with its MD5 beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = f"{HEAD}<PubmedArticleSet>\n{''.join(items)}</PubmedArticleSet>\n"
    path.write_bytes(gzip.compress(body.encode(), mtime=0))
    digest = hashlib.md5(path.read_bytes()).hexdigest()
    path.with_name(f"{path.name}.md5").write_text(f"MD5({path.name})= {digest}\n")
    return path


def doc(pmid: int, title: str, abstract: str) -> tuple[str, dict[str, str]]:
    fields = {"title": title, "abstract": abstract}
    return str(pmid), {"text": f"{title} {abstract}".strip(), **fields}


def write(folder: Path) -> Replica:
    """Write three files of records, whose later ones revise and delete, and three of questions."""
    first = [article(10 + n, f"Study {n}.", part(f"Finding {n}.")) for n in range(5)]
    first += [
        article(20, "Old title.", part("Old abstract.")),
        article(21, "Kept until deleted.", part("Text.")),
        article(22, "Twice.", part("Version one.")),
        article(22, "Twice.", part("Version two."), version=2),
    ]
    second = [
        article(
            30, "Effect of <i>TGF-β1</i> &amp; Ca<sup>2+</sup> [review].",
            part("Why &lt;0.05.", "BACKGROUND"), part("How\n  it <b>was</b> done.", "METHODS"),
            part("What.", "RESULTS"),
            more="<CopyrightInformation>Copyright.</CopyrightInformation>",
        ),
        article(31, "A title alone."),
        article(32, "", part("No title.")),
        "<PubmedBookArticle><BookDocument><PMID Version=\"1\">33</PMID></BookDocument>"
        "</PubmedBookArticle>\n",
    ]  # fmt: skip
    third = [
        article(20, "New title.", part("New abstract.")),
        article(14, "Study 4."),
        '<DeleteCitation><PMID Version="1">21</PMID></DeleteCitation>\n',
    ]
    for number, items in enumerate((first, second, third), start=1):
        pack(folder / "pubmed" / f"pubmed20n{number:04}.xml.gz", *items)
    docs = [
        doc(20, "New title.", "New abstract."),
        doc(30, "Effect of TGF-β1 & Ca2+ [review].", "Why <0.05. How it was done. What."),
        doc(32, "", "No title."),
        *(doc(10 + n, f"Study {n}.", f"Finding {n}.") for n in range(4)),
        doc(22, "Twice.", "Version two."),
    ]
    queries, qrels = _questions(folder)
    return Replica(docs, queries, qrels)


def question(query_id: str, body: str, *urls: object, **more: object) -> dict[str, object]:
    """Return a question as task B has it, with snippets, which are no judgements of docs."""
    snippets = [{"document": f"{URL}999", "text": "A snippet.", "beginSection": "abstract"}]
    own = {"body": body, "documents": [*urls], "ideal_answer": ["Yes."], "type": "yesno"}
    return {"id": query_id, "concepts": [], "snippets": snippets, **own, **more}


def _questions(folder: Path) -> tuple[dict[str, str], list[tuple[str, str, int]]]:
    one = [
        question("5e2b0001d7f0a4c0a5000001", "Is TGF-β1\nknown?", f"{URL}30", f"{URL}30"),
        question("5e2b0001d7f0a4c0a5000002", "What of study 1?", f"{URL}11", f"{URL}0000012/"),
    ]
    two = [
        question("5e2b0001d7f0a4c0a5000003", "Outside?", "https://pubmed.ncbi.nlm.nih.gov/77/",
                 "https://www.ncbi.nlm.nih.gov/pubmed/13"),
        question("5e2b0001d7f0a4c0a5000004", "Nothing known?"),
    ]  # fmt: skip
    for name, own in (("8B1_golden.json", one), ("8B2_golden.json", two)):
        text = json.dumps({"questions": own}, ensure_ascii=False, indent=1)
        mark = "\ufeff" if name.startswith("8B2") else ""  # a byte order mark
        (folder / name).write_text(mark + text, encoding="utf-8")
    ids = [str(each["id"]) for each in (*one, *two)]
    bodies = ["Is TGF-β1 known?", "What of study 1?", "Outside?", "Nothing known?"]
    gold = [(0, "30"), (1, "11"), (1, "12"), (2, "77"), (2, "13")]
    return dict(zip(ids, bodies, strict=True)), [(ids[n], pmid, 1) for n, pmid in gold]


def write_task_a(path: Path, articles: list[dict[str, object]], end: str = "]}") -> Path:
    """Write articles of task A, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in articles)
    path.write_text(f'{{"articles":[\n{lines}{end}', encoding="utf-8")
    return path


def write_collection(
    folder: Path,
    docs: list[dict[str, str]],
    questions: dict[str, list[tuple[str, str]]],
    gold: dict[str, list[str]],
) -> None:
    """Write docs with title and abstract as a baseline, and questions of splits as task B's files.

    Of three files each later one revises records of the one before, and deletes one.
    `questions` has (query_id, text) by the name of a file, `gold` the PMIDs of each query_id.
    """
    size = -(-len(docs) // 3)
    for number in range(3):
        own = docs[number * size : (number + 1) * size]
        items = [article(int(one["pmid"]), one["title"], part(one["abstract"])) for one in own]
        if number < 2:  # what the next file makes anew, and deletes
            again = docs[(number + 1) * size : (number + 1) * size + 5]
            items += [article(int(one["pmid"]), "Old.", part("Old.")) for one in again]
            items.append(article(90 + number, "Gone.", part("Gone.")))
        if number:
            items.append(f'<DeleteCitation><PMID Version="1">{89 + number}</PMID></DeleteCitation>')
        pack(folder / "pubmed" / f"pubmed20n{number + 1:04}.xml.gz", *items)
    (folder / "bioasq").mkdir(exist_ok=True)
    for name, own in questions.items():
        entries = [question(q, text, *(f"{URL}{doc}" for doc in gold[q])) for q, text in own]
        (folder / "bioasq" / name).write_text(json.dumps({"questions": entries}), encoding="utf-8")

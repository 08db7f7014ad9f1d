"""The replica of TREC disks 4 and 5: SGML of four newspapers' and gazettes' kinds, 250 topics.

Usage: `write(home)`. It has as many files as the disks, 2,295, since ir_datasets counts them; how
they spread over the four sources is a guess. Must not know how anything reads it.
"""

import random
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from replicas import packing
from replicas.truth import Replica, places

NAME = "disks45"
FILES = 2295
TOPICS = [*range(301, 451), *range(601, 701)]
UNJUDGED = 672  # no relevant doc was found for it, and NIST left it out
YEARS = (date(1989, 1, 1), date(1994, 1, 3))


class Article(NamedTuple):
    """What a doc says, and the title and body that must be read from it."""

    doc_id: str
    title: str
    body: str
    markup: str


def write(home: Path) -> Replica:
    """Write disks 4 and 5, topics and judgements into a home of ir_datasets; return what they hold.

    Title and body are given with white space collapsed: line breaks depend on the reader.
    """
    base = home / NAME
    source = places(seed=4, entities=80, passages=2300, listings=100, stubs=100, train_pairs=0,
                    tune=0, dev=0, judged=250)  # fmt: skip
    texts = [doc["text"] for _, doc in source.docs]
    articles, at = [], 0
    for number, (path, make) in enumerate(_files()):
        size = 1 + (number < len(texts) - FILES)
        held = [make(path, n, texts[at + n]) for n in range(size)]
        at += size
        articles += held
        packing.plain(base / "corpus" / path, _packed(path, "".join(a.markup for a in held)))
    ids = {
        doc_id: article.doc_id for (doc_id, _), article in zip(source.docs, articles, strict=True)
    }
    topic = {q: str(n) for (q, _), n in zip(source.queries["judged"], TOPICS, strict=True)}
    titles = {topic[q]: text.capitalize() for q, text in source.queries["judged"]}
    rows = [(topic[q], ids[doc], max(0, level - 1)) for q, doc, level in source.qrels["judged"]]
    rows = [row for row in rows if row[0] != str(UNJUDGED)]
    packing.gz(base / "04.testset.gz", "".join(_topic(*item) for item in titles.items()))
    packing.plain(base / "qrels.robust2004.txt", "".join(f"{q} 0 {d} {n}\n" for q, d, n in rows))
    robust = f"{NAME}/nocr/trec-robust-2004"
    docs = [(a.doc_id, {"title": a.title, "body": a.body}) for a in articles]
    return Replica(NAME, docs, {robust: titles}, {robust: rows})


def _files() -> list[tuple[str, Callable[[str, int, str], Article]]]:
    """Return path below corpus/ and maker for each of the 2,295 files, in the order of reading."""
    fbis = [f"FBIS/FB{3 + n // 246}96{n % 246 + 1:03}.Z" for n in range(492)]
    days = [YEARS[1] + timedelta(days=n // 3) for n in range(645)]
    fr94 = [f"FR94/{d:%m}/FR{d:%y%m%d}.{n % 3}Z" for n, d in enumerate(days)]
    ft = [f"FT/FT{911 + n // 43}/FT{911 + n // 43}_{n % 43 + 1}.gz" for n in range(428)]
    la = [f"LATIMES/LA{YEARS[0] + timedelta(days=n):%m%d%y}{'.Z' * (n < 365)}" for n in range(730)]
    makers = [(fbis, _fbis), (fr94, _fr94), (ft, _ft), (la, _latimes)]
    return [(path, make) for paths, make in makers for path in sorted(paths)]


def _packed(path: str, markup: str) -> bytes:
    data = markup.encode("ascii")
    if path.endswith("Z"):
        return packing.compress(data)
    return packing.gzip.compress(data, mtime=0) if path.endswith(".gz") else data


def _parts(text: str) -> tuple[str, list[str]]:
    """Return a title of the first words, and the text in sentences without their full stops."""
    return " ".join(text.split()[:6]).rstrip(".,:"), text.rstrip(".").split(". ")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _fbis(path: str, number: int, text: str) -> Article:
    """Fields within the text as <F P=105>, title as <TI> in <H3>, entities."""
    stem = _stem(path)
    doc_id = f"FBIS{stem[2]}-{int(stem[5:]) * 10 + number}"
    title, sentences = _parts(text)
    body = ".\n".join(sentences)
    markup = (
        f'<DOC>\n<DOCNO> {doc_id} </DOCNO>\n<HT>  "cr{stem}" </HT>\n\n\n<HEADER>\n'
        f"<H2>   March Reports </H2>\n<DATE1>  1 March 1994 </DATE1>\nArticle Type:FBIS\n"
        f"<H3> <TI>      {title} &amp; more </TI></H3>\n\n</HEADER>\n\n<TEXT>\n"
        f"Language: <F P=105> English </F>\nArticle Type:CSO \n\n  [Text] {body} AT&T\n"
        f"\n</TEXT>\n\n</DOC>\n"
    )
    read = f"Language: English Article Type:CSO [Text] {' '.join(body.split())} AT&T"
    return Article(doc_id, f"{title} & more", read, markup)


def _fr94(path: str, number: int, text: str) -> Article:
    """Typesetters' comments, no title in a tag that counts as one, entities that HTML may lack.

    HTML 5 has &sect; and, for what means a space here, &blank; (U+2423); it lacks &hyph;.
    """
    stem = _stem(path)
    doc_id = f"{stem}-{path[-2]}-{number + 1:05}"
    _, sentences = _parts(text)
    lines = "\n<!-- PJG 0012 frnewline -->\n".join(f"{s}." for s in sentences)
    markup = (
        f"<DOC>\n<DOCNO> {doc_id} </DOCNO>\n<PARENT> {stem}-{path[-2]}-00001 </PARENT>\n<TEXT>\n \n"
        f"<!-- PJG FTAG 4700 -->\n\n<!-- PJG ITAG l=90 g=1 f=1 -->\n&blank;/&blank;Federal Register"
        f"\n<!-- PJG /ITAG -->\n<USDEPT>DEPARTMENT OF PLACES</USDEPT>\n&sect;12&hyph;4 of the act\n"
        f"{lines}\n<!-- PJG /STAG -->\n</TEXT>\n</DOC>\n\n\n\n"
    )
    read = (
        f"␣/␣Federal Register DEPARTMENT OF PLACES §12&hyph;4 of the act "
        f"{' '.join(f'{s}.' for s in sentences)}"
    )
    return Article(doc_id, "", read, markup)


def _ft(path: str, number: int, text: str) -> Article:
    """A date on the line of its tag, a headline with the paper's own, byline and page."""
    doc_id = f"{_stem(path).partition('_')[0]}-{int(_stem(path).partition('_')[2]) * 2 + number}"
    title, sentences = _parts(text)
    body = ".\n".join(sentences)
    markup = (
        f"<DOC>\n<DOCNO>{doc_id}</DOCNO>\n<PROFILE>_AN-BEOA7AAIFT</PROFILE>\n<DATE>910514\n</DATE>\n"
        f"<HEADLINE>\nFT  14 MAY 91 / {title}\n</HEADLINE>\n<BYLINE>\n   By A REPORTER\n</BYLINE>\n"
        f"<TEXT>\n{body}\n</TEXT>\n<PUB>The Financial Times\n</PUB>\n<PAGE>\nLondon\n</PAGE>"
        f"\n</DOC>\n"
    )
    read = f"910514 {' '.join(body.split())}"
    return Article(doc_id, f"FT 14 MAY 91 / {title}", read, markup)


def _latimes(path: str, number: int, text: str) -> Article:
    """Paragraphs in every field, some of them never closed."""
    doc_id = f"{_stem(path)}-{number + 1:04}"
    title, sentences = _parts(text)
    close = "" if int(_stem(path)[4:6]) % 5 == 0 else "</P>\n"
    paragraphs = "".join(f"<P>\n{s}. \n{close}" for s in sentences)
    markup = (
        f"<DOC>\n<DOCNO> {doc_id} </DOCNO>\n<DOCID> {number + 1} </DOCID>\n<DATE>\n<P>\n"
        f"January 1, 1989, Sunday, Home Edition \n</P>\n</DATE>\n<SECTION>\n<P>\nMetro; Page 1 \n"
        f"</P>\n</SECTION>\n<LENGTH>\n<P>\n{len(text.split())} words \n</P>\n</LENGTH>\n"
        f"<HEADLINE>\n<P>\n{title.upper()}; \n</P>\n</HEADLINE>\n<TEXT>\n{paragraphs}</TEXT>\n"
        f"<TYPE>\n<P>\nColumn \n</P>\n</TYPE>\n</DOC>\n"
    )
    read = f"January 1, 1989, Sunday, Home Edition {' '.join(f'{s}.' for s in sentences)}"
    return Article(doc_id, f"{title.upper()};", read, markup)


def _topic(number: str, title: str) -> str:
    """A topic as 04.testset has it: no closing tags, spaces at some ends of lines."""
    rng = random.Random(number)
    gap = " " * rng.randint(0, 1)
    return (
        f"<top>\n\n<num> Number: {number}{gap}\n<title> {title} \n\n"
        f"<desc> Description: \nWhat is known about {title.lower()}?\n{gap}\n<narr> Narrative: \n"
        f"A relevant document names the place and what is asked about it.\n"
        f"Documents on other places are not relevant.{gap}\n\n</top>\n\n\n"
    )

"""ir_datasets reads the replica of CORD-19; of the full release, it reads a later layout alone."""

import csv
import io
import json
import tarfile
from collections import Counter
from contextlib import ExitStack

import pytest

from replicas import cord19, reading

RELEASE = [(cord19.DATE, cord19.RELEASE)]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def replica(home):
    return cord19.write(home)


@pytest.fixture(scope="module")
def outcome(home, replica):
    return reading.read(home, [cord19.ROUND], [cord19.ROUND, cord19.EARLIER], RELEASE)


def without_body(docs):
    return [(uid, {k: v for k, v in doc.items() if k != "body"}) for uid, doc in docs]


def test_every_row_of_the_metadata_is_read(replica, outcome):
    assert reading.docs(outcome, cord19.ROUND) == without_body(replica.docs)
    assert replica.counts()["docs"] == 224
    rows = Counter(uid for uid, _ in replica.docs)
    assert sorted(rows.values()) == [1] * 216 + [2] * 4, "four papers stand twice"
    abstracts = [doc["abstract"] for _, doc in replica.docs]
    assert any("\n" in abstract for abstract in abstracts) and "" in abstracts
    assert any('"pilot"' in doc["title"] for _, doc in replica.docs)


def test_topics_and_residual_judgements_are_read(replica, outcome):
    assert reading.queries(outcome, cord19.ROUND, "description") == replica.queries[cord19.ROUND]
    assert list(replica.queries[cord19.ROUND]) == [str(n) for n in range(1, 36)]
    first = outcome["queries"][cord19.ROUND]["rows"][0]
    assert set(first["title"].split()) < set(first["description"].split())
    assert first["narrative"] == f"looking for studies: {first['description']}"
    assert reading.qrels(outcome, cord19.ROUND) == replica.qrels[cord19.ROUND]
    rows = outcome["qrels"][cord19.ROUND]["rows"]
    assert {row["iteration"] for row in rows} == {"1.5", "2"}
    assert {row["relevance"] for row in rows} == {0, 1, 2}


def test_the_first_round_judges_other_docs_of_topics_that_are_still_asked(replica, outcome):
    first, second = cord19.EARLIER, cord19.ROUND
    assert reading.queries(outcome, first, "description") == replica.queries[first]
    assert reading.qrels(outcome, first) == replica.qrels[first]
    assert replica.queries[first].items() < replica.queries[second].items()
    assert set(replica.queries[second]) - set(replica.queries[first]) == set(
        map(str, range(7, 36, 7))
    )
    pairs = [{row[:2] for row in replica.qrels[name]} for name in (first, second)]
    assert pairs[0] and not pairs[0] & pairs[1]
    assert {row["iteration"] for row in outcome["qrels"][first]["rows"]} == {"0.5", "1"}


def test_the_release_has_the_tars_and_columns_of_its_day(home, replica):
    with tarfile.open(home / "cord19" / cord19.RELEASE) as tar:
        names = set(tar.getnames())
        header = tar.extractfile("2020-05-01/metadata.csv").readline().decode().strip()
    assert {f"2020-05-01/{subset}.tar.gz" for subset in cord19.SUBSETS} < names
    assert header == (
        "cord_uid,sha,source_x,title,doi,pmcid,pubmed_id,license,abstract,publish_time,authors,"
        "journal,Microsoft Academic Paper ID,WHO #Covidence,arxiv_id,has_pdf_parse,"
        "has_pmc_xml_parse,full_text_file,url"
    )


def test_parses_of_the_release_are_found_by_its_metadata(home, replica):
    bodies = []
    with ExitStack() as stack:
        release = stack.enter_context(tarfile.open(home / "cord19" / cord19.RELEASE))
        subsets = {s: release.extractfile(f"2020-05-01/{s}.tar.gz") for s in cord19.SUBSETS}
        tars = {s: stack.enter_context(tarfile.open(fileobj=f)) for s, f in subsets.items()}
        metadata = io.TextIOWrapper(release.extractfile("2020-05-01/metadata.csv"), newline="")
        for row in csv.DictReader(metadata):
            bodies.append((row["cord_uid"], body(row, tars.get(row["full_text_file"]))))
    assert bodies == [(uid, doc["body"]) for uid, doc in replica.docs]


def body(row, tar):
    folder = row["full_text_file"]
    if row["has_pmc_xml_parse"] == "True":
        path = f"{folder}/pmc_json/{row['pmcid']}.xml.json"
    elif row["has_pdf_parse"] == "True":
        path = f"{folder}/pdf_json/{row['sha'].split(';')[0]}.json"
    else:
        return []
    return [
        (part["section"], part["text"]) for part in json.load(tar.extractfile(path))["body_text"]
    ]


def test_ir_datasets_takes_the_word_false_for_a_parse_that_is_there(outcome):
    """Cord19Docs tests has_pmc_xml_parse as a text, so it looks for the parse of no PMC id."""
    result = outcome["docs"][cord19.DATE]
    assert result["rows"] == []
    assert "/pmc_json/.xml.json' not found" in result["error"]


def test_ir_datasets_reads_bodies_of_the_later_layout(tmp_path):
    replica = cord19.write(tmp_path, layout="parses")
    outcome = reading.read(tmp_path, releases=RELEASE)
    read = [
        (uid, doc | {"body": [tuple(part) for part in doc["body"]]})
        for uid, doc in reading.docs(outcome, cord19.DATE)
    ]
    assert read == replica.docs


def test_pmc_is_preferred_to_pdf_and_some_papers_have_no_body(replica):
    bodies = [doc["body"] for _, doc in replica.docs]
    from_pdf = sum(bool(body) and body[0][1].startswith("Page 1 ") for body in bodies)
    assert [] in bodies and 0 < from_pdf < sum(map(bool, bodies))
    assert max(map(len, bodies)) > 3


def test_a_line_separator_in_a_title_without_quotes_breaks_its_row_in_two(tmp_path):
    """ir_datasets cuts lines as str.splitlines does; csv, which wrote them, quotes no U+2028."""
    replica = cord19.write(tmp_path)
    path = tmp_path / "cord19" / cord19.DATE / "metadata.csv"
    uid, title = replica.docs[1][0], replica.docs[1][1]["title"]
    path.write_text(path.read_text().replace(f",{title},", f",{title}\u2028,"))
    rows = reading.read(tmp_path, [cord19.ROUND])["docs"][cord19.ROUND]["rows"]
    assert len(rows) == 225
    assert [row["doc_id"] for row in rows if row["abstract"] is None] == [uid]

"""The names of measures: ir_measures' own, and the table of ours."""

import pytest

from residuum.cli.errors import ResiduumError
from residuum.config import measures


@pytest.mark.parametrize(
    ("measure", "reads", "cutoff"),
    [
        ("RR@10", "judgements", 10),
        ("R(rel=2)@1000", "judgements", 1000),
        ("AP", "judgements", None),
        ("nDCG(dcg='exp-log2')@10", "judgements", 10),
        ("AnswerAccuracy@20", "answers", 20),
    ],
)
def test_what_a_measure_reads_and_where_it_stops(measure, reads, cutoff):
    assert measures.reads(measure) == reads
    assert measures.cutoff(measure) == cutoff
    assert measures.fault(measure, ["judgements", "answers"]) is None


@pytest.mark.parametrize(
    ("measure", "says"),
    [
        ("AnswerAccuracy", "write such as AnswerAccuracy@20"),
        ("AnswerAccuracy@0", "write such as AnswerAccuracy@20"),
        ("answeraccuracy@20", "Close: AnswerAccuracy"),
        ("ndcg@10", "Close: nDCG"),
        ("RR10", "A measure is written as in nDCG@10"),
        ("P", "it needs a cutoff"),
        ("", "cannot read the measure ''"),
    ],
)
def test_a_name_that_is_no_measure_is_told_with_what_is_close(measure, says):
    with pytest.raises(ResiduumError) as caught:
        measures.cutoff(measure)
    assert says in str(caught.value)
    assert measures.fault(measure, ["judgements"]) == str(caught.value)


def test_a_measure_that_needs_what_a_key_has_not():
    fault = measures.fault("AnswerAccuracy@20", ["judgements"])
    assert fault == "'AnswerAccuracy@20' is by answers; measures of this key: by judgements"


def test_a_measure_that_nothing_here_computes():
    says = "'alpha_nDCG@20': no provider that ir_measures has here computes alpha_nDCG"
    assert measures.fault("alpha_nDCG@20", ["judgements"]) == says
    assert measures.fault("ERR@20", ["judgements"]) is None


def test_measures_in_words():
    assert measures.words("RR@10") == "Reciprocal rank at 10 (RR@10)"
    assert measures.words("R(rel=2)@1000") == "Recall at 1000 (R(rel=2)@1000)"
    assert measures.words("AP") == "Average precision (AP)"
    accuracy = "Share of questions answered by the docs at 20 (AnswerAccuracy@20)"
    assert measures.words("AnswerAccuracy@20") == accuracy
    assert measures.words("Bpref") == "Bpref"


TABLES = measures.BY_JUDGEMENTS, measures.BY_ANSWERS


def test_every_measure_of_ours_has_a_function():
    assert all(callable(own.values) for table in TABLES for own in table.all().values())


@pytest.mark.parametrize(
    ("measure", "hit"),
    [
        ("Success@10", True), ("Success(rel=2)@10", True), ("AnswerAccuracy@20", True),
        ("RR@10", False), ("P@1", False), ("nDCG@10", False),
    ],
)  # fmt: skip
def test_a_hit_is_0_or_1_whatever_level_counts(measure, hit):
    assert measures.is_hit(measure) is hit

"""Options made of a job's own files."""

from residuum.wiring import options
from residuum.wiring.paths import folder_of


class Files(dict):
    """Inputs as Snakemake has them: by name, and in their order."""

    def __getitem__(self, key):
        return list(self.values())[key] if isinstance(key, int) else super().__getitem__(key)


FILES = Files(
    corpus="d/corpus/manifest.json",
    queries=["d/dev/queries.tsv", "d/test/queries.tsv"],
    index=[],
    lexical_on_dense="a.on.b.trec.gz",
    tuning=["t.json"],
)


def test_folders_are_those_that_manifests_stand_for():
    assert options.folder("corpus")(None, FILES) == "d/corpus"
    assert options.output_folder(None, FILES) == "d/corpus"


def test_an_option_is_given_for_each_file_and_left_out_for_none():
    assert options.each("corpus", "corpus", folder_of)(None, FILES) == "--corpus d/corpus"
    assert options.each("index", "index", folder_of)(None, FILES) == ""
    assert options.each("fold", "absent")(None, FILES) == ""
    splits = options.each("split", "queries", options.by_split)(None, FILES)
    assert splits == "--split dev=d/dev/queries.tsv --split test=d/test/queries.tsv"
    scores = options.each("scores", "lexical_on_dense", options.by_system)(None, FILES)
    assert scores == "--scores a=a.on.b.trec.gz"
    assert options.each("tuning", "tuning")(None, FILES) == "--tuning t.json"


def test_files_of_one_folder_give_its_option_once():
    files = Files(questions=["d/dev/queries.tsv", "d/dev/answers.jsonl"])
    option = options.each("questions", "questions", folder_of)
    assert option(None, files) == "--questions d/dev"


def test_answers_and_their_corpus_are_two_options():
    files = Files(texts=["d/dev/answers.jsonl", "d/corpus/manifest.json"])
    assert options.texts(None, files) == "--answers d/dev/answers.jsonl --corpus d/corpus"
    assert options.texts(None, Files(texts=[])) == options.texts(None, FILES) == ""


def test_a_collection_that_plays_two_roles_is_given_for_each():
    files = Files(corpora=["d/corpus/manifest.json", "e/corpus/manifest.json"] * 2)
    once = "--corpus d/corpus --corpus e/corpus"
    twice = options.each("corpus", "corpora", folder_of, once=False)
    assert twice(None, files) == f"{once} {once}"
    assert options.each("corpus", "corpora", folder_of)(None, files) == once

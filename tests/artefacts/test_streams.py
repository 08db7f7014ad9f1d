"""What is kept on disk: repeated texts are found wherever they stand, texts come back by number."""

import pytest

from residuum.artefacts import files, streams
from residuum.artefacts.streams import DuplicateFinder


def repeats(folder, texts):
    digests = DuplicateFinder(folder)
    for text in texts:
        digests.add(text)
    return set().union(*digests.repeated())


def test_repeated_texts_are_found_in_every_file_and_across_spills(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "WAITING", 7)
    texts = [f"d{number}" for number in range(6000)]
    assert {files.digest(text) % streams.BUCKETS for text in texts[:4000]} == set(
        range(streams.BUCKETS)
    )
    result = repeats(tmp_path, [*texts, *texts[:4000]])
    assert result == {files.digest(text) for text in texts[:4000]}


def test_texts_that_differ_are_not_repeated(tmp_path):
    assert repeats(tmp_path, ["", "a", "A", "é", "e\u0301", "aa"]) == set()


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_texts_come_back_by_number_and_nothing_is_left(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(streams, "TEXTS_AT_ONCE", at_once)
    texts = ["007", "", "Zürich 🙂", "NA", "x" * 10_000]
    with streams.disk_list(tmp_path / "out.gz", iter(texts)) as held:
        assert len(held) == 5
        assert [held[number] for number in (4, 0, 3, 1, 2)] == [texts[n] for n in (4, 0, 3, 1, 2)]
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_after_an_error_either(tmp_path):
    with pytest.raises(ValueError, match="stop"), streams.disk_list(tmp_path / "out.gz", ["a"]):
        raise ValueError("stop")
    assert not list(tmp_path.iterdir())

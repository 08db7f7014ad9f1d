"""All replicas lie in one home, the same in every process, with official files over them."""

import hashlib
import os
import subprocess
import sys

import pytest

from conftest import ROOT
from replicas import reading, writing

PROGRAM = """
import hashlib, pathlib, sys
from replicas import writing
folder = pathlib.Path(sys.argv[1])
replicas = writing.write_all(folder / "home", folder / "data")
total = hashlib.sha256()
for path in sorted(p for p in folder.rglob("*") if p.is_file()):
    total.update(str(path.relative_to(folder)).encode() + path.read_bytes())
print(total.hexdigest(), *replicas)
"""


def test_the_same_bytes_in_any_process(tmp_path):
    message = set()
    for seed in ("0", "4242"):
        path = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "workflow")])
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / seed)],
            env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        message.add(done.stdout)
    assert len(message) == 1
    names = message.pop().split()[1:]
    assert len(names) == 18 and {"msmarco-passage", "disks45", "kilt"} < set(names)
    assert (tmp_path / "0" / "data" / "nq" / "nq-test.qa.csv").is_file()


@pytest.mark.shared_data
def test_official_queries_and_judgements_lie_over_the_generated_ones(tmp_path, shared_data):
    home = tmp_path / "home"
    writing.msmarco_passage.write(home)
    writing.cord19.write(home)
    laid = writing.lay_official(home, shared_data)
    assert len(laid) == 11
    official = (shared_data / "ir_datasets" / "trec-robust04" / "queries.gz").read_bytes()
    assert hashlib.md5(official).hexdigest() == hashlib.md5(laid[-1].read_bytes()).hexdigest()
    marco, cord = "msmarco-passage", "cord19/trec-covid/round2"
    splits = [f"{marco}/dev/small", f"{marco}/trec-dl-2019/judged", f"{marco}/trec-dl-2020/judged"]
    topics = "disks45/nocr/trec-robust-2004"
    first = "cord19/trec-covid/round1"
    result = reading.read(home, [marco], [*splits, cord, first])
    sizes = {s: (len(reading.queries(result, s)), len(reading.qrels(result, s))) for s in splits}
    assert list(sizes.values()) == [(6980, 7437), (43, 9260), (54, 11386)]
    assert len(reading.queries(result, cord, "description")) == 35
    assert len(reading.qrels(result, cord)) == 12037
    assert len(reading.queries(result, first, "description")) == 30
    pairs = [{row[:2] for row in reading.qrels(result, name)} for name in (first, cord)]
    assert (len(pairs[0]), pairs[0] & pairs[1]) == (8691, set()), "round 2 judges no pair again"
    assert len(reading.docs(result, marco)) == 600
    (home / "disks45" / "qrels.robust2004.txt").write_text("")
    robust = reading.read(home, splits=[topics, f"{topics}/fold1"])
    assert len(reading.queries(robust, topics, "title")) == 250
    assert len(reading.queries(robust, f"{topics}/fold1", "title")) == 50

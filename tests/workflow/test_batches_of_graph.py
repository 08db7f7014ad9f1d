"""The real graph in a cluster's batches, by Snakemake's own dry run, which refuses cycles."""

import re

import pytest

from projects import choose, copy_project, invoke

pytestmark = pytest.mark.workflow
GROUP = re.compile(
    r"^\[.*\] Group job (\S+) \(jobs in lexicogr\. order\):\n((?:(?:    .*)?\n)+)", re.M
)
OPTIONS = ["--dry-run", "--nocolor", "--quiet", "host", "--group-components", "batch=20"]
OPTIONS += ["--resources", "batch=1"]


@pytest.mark.parametrize(
    ("scale", "papers"), [("smoke", ["clear", "roc", "mebert"]), ("full", ["clear"])]
)
def test_short_jobs_go_by_twenties_and_shards_and_the_target_alone(tmp_path, scale, papers):
    choose(copy_project(tmp_path), *papers)
    status, output = invoke(tmp_path, "all", scale=scale, cores=100, options=OPTIONS)
    assert status == 0, output[-3000:]
    groups = [
        (name, re.findall(r"^    rule (\w+):", body, re.M)) for name, body in GROUP.findall(output)
    ]
    alone = re.findall(r"^(?:local)?rule (\w+):", output, re.M)
    together = [rule for _, rules in groups for rule in rules]
    assert max(len(rules) for _, rules in groups) == 20
    assert len(groups) < (len(together) + len(alone)) / 8
    assert "all" in alone and "all" not in together
    shards = {"encode_docs", "dense_search"}
    assert shards <= {*alone} and not shards & {*together}
    assert ("rm3_tune" in alone) == (scale == "full"), "of hours"

"""Placement: jobs of this machine request its cards, and share one where the user says so."""

import os
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest
from snakemake.resources import Resources

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.config.schema.scales import Config
from residuum.neural import cards
from residuum.wiring.placement import Placement

TWO = cards.Cards(("GPU-a", "GPU-b"))
NONE = cards.Cards((), "no NVIDIA driver: nvidia-smi is not found. Install it", True)
BUILD = cards.Build("2.13.0", "13.0")


def workflow(nodes=None, remote=False, local=True, given=None, deployed=frozenset()):
    return SimpleNamespace(
        nodes=nodes,
        remote_exec=remote,
        local_exec=local,
        deployment_settings=SimpleNamespace(deployment_method=deployed),
        global_resources=Resources.from_mapping({} if given is None else {"gpu": given}),
    )


def placement(monkeypatch, present, flow=None, made=BUILD, **config):
    """Return the placement of a run on a machine with these cards."""
    monkeypatch.setattr(cards, "build", lambda: made)
    monkeypatch.setattr(cards, "usable", lambda build: present)
    monkeypatch.setenv(cards.NAMES, "of a run around this one")
    return Placement(flow or workflow(), Config(scale="any", papers=["any"], **config))


def limit(flow):
    return flow.global_resources.get("gpu").value


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_jobs_request_the_cards_of_this_machine(monkeypatch, device):
    flow = workflow()
    made = placement(monkeypatch, TWO, flow, device=device)
    made.limit()
    made.start()
    assert (made.number, limit(flow), os.environ[cards.NAMES]) == (2, 2, "GPU-a,GPU-b")


def test_a_user_has_fewer_jobs_on_cards_but_not_more(monkeypatch):
    for given in (1, 2):
        flow = workflow(given=given)
        made = placement(monkeypatch, TWO, flow)
        made.limit()
        made.start()
        assert limit(flow) == given
    made = placement(monkeypatch, TWO, workflow(given=3))
    with pytest.raises(ResiduumError, match=r"gpu=3, but this machine has 2: GPU-a, GPU-b"):
        made.start()


def test_jobs_that_share_cards_have_slots_on_all_of_them_before_a_second_on_one(monkeypatch):
    flow = workflow()
    made = placement(monkeypatch, TWO, flow, jobs_per_card=3)
    made.limit()
    made.start()
    assert (made.number, limit(flow)) == (6, 6)
    assert os.environ[cards.NAMES] == "GPU-a,GPU-b,GPU-a,GPU-b,GPU-a,GPU-b"
    made = placement(monkeypatch, TWO, workflow(given=7), jobs_per_card=3)
    with pytest.raises(ResiduumError, match=r"gpu=7, but .* A card takes 3 jobs at once: "):
        made.start()


def test_a_training_on_more_cards_than_there_are_is_refused(monkeypatch):
    """Its request is not lowered to what is here: a dry run plans for another machine."""
    flow = workflow()
    made = placement(monkeypatch, TWO, flow, device="cuda", gpus=3, jobs_per_card=2)
    made.limit()
    assert limit(flow) is None
    with pytest.raises(ResiduumError, match="gpus: 3 train together, but this machine has 2"):
        made.start()


@pytest.mark.parametrize("flow", [workflow(nodes=50), workflow(remote=True)])
def test_of_a_cluster_nothing_is_looked_up(monkeypatch, flow):
    made = placement(monkeypatch, TWO, flow)
    monkeypatch.setattr(cards, "usable", lambda build: pytest.fail("it was looked up"))
    flow.local_exec = False
    made.limit()
    made.start()
    assert made.number == 0 and limit(flow) is None and cards.NAMES not in os.environ


def test_jobs_here_take_turns_even_where_snakemake_has_a_number_of_jobs(monkeypatch):
    """`--cores 4 --jobs 10`: it looks like a cluster while rules are read."""
    made = placement(monkeypatch, TWO, workflow(nodes=10))
    made.start()
    assert made.number == 0 and os.environ[cards.NAMES] == "GPU-a,GPU-b"


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_without_a_card_among_the_devices_none_is_looked_for(monkeypatch, device):
    made = placement(monkeypatch, TWO, device=device)
    made.start()
    assert made.number == 0 and cards.NAMES not in os.environ


def test_auto_says_once_why_it_takes_no_card(monkeypatch, capsys):
    made = placement(monkeypatch, NONE)
    made.start()
    assert capsys.readouterr().err == f"device auto: {NONE.why}. Computing on the CPU.\n"
    assert made.number == 0 and os.environ[cards.NAMES] == "", "jobs do not say it again"
    placement(monkeypatch, NONE._replace(seen=False)).start()
    assert not capsys.readouterr().err, "a machine that never had a card"


def test_cuda_without_a_card_is_refused_before_the_first_job(monkeypatch):
    with pytest.raises(ResiduumError, match="device: cuda: no NVIDIA driver: nvidia-smi is not"):
        placement(monkeypatch, NONE, device="cuda").start()


def test_another_environments_torch_and_other_makers_cards_are_left_alone(monkeypatch):
    asked = []
    made = placement(monkeypatch, TWO, workflow(deployed={"conda"}))
    monkeypatch.setattr(cards, "usable", lambda build: asked.append(build) or TWO)
    assert made.number == 2 and asked == [None]
    made = placement(monkeypatch, TWO, made=cards.Build("2.13.0", None, "7.1"), device="cuda")
    made.start()
    assert made.number == 0, "AMD's: torch looks for them itself"


SNAKEFILE = """
import sys
sys.path.insert(0, {package!r})
from residuum.config.schema.scales import Config
from residuum.neural import cards
from residuum.wiring.placement import Placement
cards.build = lambda: cards.Build("2.13.0", "13.0")
PLACEMENT = Placement(workflow, Config(scale="any", papers=["any"]))
PLACEMENT.limit()
rule all:
    input: expand("{{n}}.txt", n=range(4))
rule one:
    output: "{{n}}.txt"
    resources: gpu=int(PLACEMENT.number > 0)
    shell: "PYTHONPATH={package} {python} job.py > {{output}}"
onstart:
    PLACEMENT.start()
"""
JOB = """
import os, time
from residuum.neural import cards
start = time.monotonic()
cards.take()
taken = time.monotonic()
time.sleep(1)
print(os.environ["CUDA_VISIBLE_DEVICES"], start, taken, time.monotonic())
"""


def test_snakemake_spreads_jobs_over_the_cards(tmp_path):
    """Four jobs, eight cores and two cards: two at a time, each alone on its card."""
    names = [f"GPU-{os.getpid()}-{n}" for n in range(2)]  # no other test's
    tool = tmp_path / "nvidia-smi"
    listing = "".join(f"GPU {n}: H100 (UUID: {name})\\n" for n, name in enumerate(names))
    tool.write_text(f"#!/bin/sh\nprintf '{listing}'\n")
    tool.chmod(0o755)
    package = str(ROOT / "workflow")
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(package=package, python=sys.executable))
    (tmp_path / "job.py").write_text(JOB)
    own = {name: value for name, value in os.environ.items() if name != cards.VISIBLE}
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "8", "--scheduler", "greedy"],
        cwd=tmp_path,
        env={**own, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    jobs = [(tmp_path / f"{n}.txt").read_text().split() for n in range(4)]
    assert {own for own, *_ in jobs} == {*names}
    times = {name: sorted([*map(float, t)] for own, *t in jobs if own == name) for name in names}
    for of in times.values():
        assert all(before[2] <= after[1] for before, after in pairwise(of)), "one after another"
        assert all(taken - start < 0.5 for start, taken, _ in of), "none waits with a core in hand"

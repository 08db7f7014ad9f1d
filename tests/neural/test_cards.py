"""Cards: what a machine shows, why torch may not use it, and that no two jobs share one."""

import os
import signal
import socket
import subprocess
import sys
import uuid

import pytest

from conftest import ROOT
from residuum.cli.errors import ResiduumError
from residuum.neural import cards

UUIDS = [f"GPU-{n}1e5b0c4-3a51-4f0c-8f54-2d0c6a7b9e1{n}" for n in range(3)]
PARTS = [f"MIG-{n}d0f6a2b-7c3e-5b1d-9a8f-0e1c2b3a4d5{n}" for n in range(2)]
WHOLE = "".join(f"GPU {n}: NVIDIA H100 80GB HBM3 (UUID: {name})\n" for n, name in enumerate(UUIDS))
DIVIDED = (
    f"GPU 0: NVIDIA A100-SXM4-40GB (UUID: {UUIDS[0]})\n"
    f"  MIG 3g.20gb     Device  0: (UUID: {PARTS[0]})\n"
    f"  MIG 3g.20gb     Device  1: (UUID: {PARTS[1]})\n"
    f"GPU 1: NVIDIA A100-SXM4-40GB (UUID: {UUIDS[1]})\n"
)
CUDA13 = cards.Build("2.13.0", "13.0")


@pytest.fixture(autouse=True)
def _machine(monkeypatch, tmp_path):
    """Stand in for a machine that has nothing of NVIDIA."""
    for name in ("DRIVER", "DRIVER_VERSION", "BUS"):
        monkeypatch.setattr(cards, name, tmp_path / name)
    for name in (cards.NAMES, cards.VISIBLE, "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def says(tmp_path):
    """Return a function that lets `nvidia-smi -L` print a text and end with a status."""

    def write(text, status=0):
        path = tmp_path / "nvidia-smi"
        path.write_text(
            f"#!/bin/sh\n[ \"$*\" = -L ] && /bin/cat <<'END'\n{text}END\nexit {status}\n"
        )
        path.chmod(0o755)

    return write


@pytest.fixture
def plugged(tmp_path):
    """Put a card on the bus, beside a device of another maker and a sound chip of NVIDIA."""
    for place, vendor, kind in (
        ("0000:00:02.0", "0x8086", "0x030000"),
        ("0000:01:00.0", "0x10de", "0x030200"),
        ("0000:01:00.1", "0x10de", "0x040300"),
    ):
        folder = tmp_path / "BUS" / place
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{kind}\n")


def test_a_divided_card_counts_as_its_parts():
    assert cards.parse(WHOLE).names == tuple(UUIDS)
    assert cards.parse(DIVIDED).names == (*PARTS, UUIDS[1])
    assert cards.parse("No devices were found\n").names == ()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, UUIDS),
        ("1", [UUIDS[1]]),
        ("2, 0", [UUIDS[2], UUIDS[0]]),
        (UUIDS[1][:8], [UUIDS[1]]),
        ("0,7,1", [UUIDS[0]]),  # as CUDA has it: nothing from the first unknown one on
        ("", []),
        ("GPU-", []),
        ("-1", []),
        ("3", []),
    ],
)
def test_what_cuda_visible_devices_shows(says, monkeypatch, given, shown):
    says(WHOLE)
    if given is not None:
        monkeypatch.setenv(cards.VISIBLE, given)
    found = cards.usable(CUDA13)
    assert [*found.names] == shown
    if not shown:
        assert found.seen and found.why.startswith(f"CUDA_VISIBLE_DEVICES={given!r} shows none of")
        assert "(3). Unset it" in found.why


@pytest.mark.parametrize(
    ("listing", "order", "shown"),
    [
        (WHOLE.replace("H100 80GB HBM3", "T4", 1), None, "1"),
        (WHOLE.replace("H100 80GB HBM3", "T4", 1), "PCI_BUS_ID", UUIDS[1]),
        (DIVIDED, "PCI_BUS_ID", "1"),  # the second card, of which nothing says which place it has
    ],
)
def test_a_number_stays_where_cuda_may_count_otherwise(says, monkeypatch, listing, order, shown):
    says(listing)
    monkeypatch.setenv(cards.VISIBLE, "1")
    if order:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    assert cards.usable(CUDA13).names == (shown,)


def test_a_machine_without_a_card_has_nothing_to_tell():
    found = cards.usable(CUDA13)
    assert not found.names and not found.seen
    assert found.why == "this machine shows no NVIDIA card (nvidia-smi is not found)"


def test_a_card_without_a_driver(plugged):
    found = cards.usable(CUDA13)
    assert not found.names and found.seen
    assert found.why.startswith("no NVIDIA driver: nvidia-smi is not found. Install it")


def test_a_sound_chip_and_a_card_of_another_maker_are_none(plugged, tmp_path):
    (tmp_path / "BUS" / "0000:01:00.0" / "vendor").write_text("0x1002\n")
    assert not cards.usable(CUDA13).seen


def test_a_driver_that_does_not_answer_well(says, plugged):
    says("Failed to initialize NVML: Driver/library version mismatch\n", status=18)
    found = cards.usable(CUDA13)
    assert not found.names and found.seen
    assert "Failed to initialize NVML: Driver/library version mismatch" in found.why
    assert "restart the machine" in found.why and "\n" not in found.why


def test_without_the_tool_the_driver_itself_names_its_cards(tmp_path):
    for number, name in enumerate((UUIDS[1], UUIDS[0])):
        folder = tmp_path / "DRIVER" / "gpus" / f"0000:0{number}:00.0"
        folder.mkdir(parents=True)
        text = (
            f"Model: \t NVIDIA A100\nIRQ:  \t 148\nGPU UUID: \t {name}\nDevice Minor: \t {number}\n"
        )
        (folder / "information").write_text(text)
    assert cards.usable(CUDA13) == cards.Cards((UUIDS[1], UUIDS[0]), numbered=True)


def test_a_torch_for_cpus_is_named(says):
    says(WHOLE)
    found = cards.usable(cards.Build("2.13.0+cpu", None))
    assert not found.names and found.seen
    assert found.why.startswith("torch 2.13.0+cpu computes on CPUs alone. Install its build for")
    assert cards.usable(None).names == tuple(UUIDS), "of another environment nothing is known"


@pytest.mark.parametrize(
    ("driver", "cuda", "enough"),
    [
        ("535.104.05", "13.0", False),
        ("580.65.06", "13.0", True),
        ("535.104.05", "12.8", True),
        ("470.82.01", "12.6", False),
        ("470.82.01", "11.8", True),
        ("999.1", "14.0", True),
    ],
)
def test_a_driver_that_is_too_old_for_torch(says, tmp_path, driver, cuda, enough):
    """The bounds are those of NVIDIA's table of minor version compatibility."""
    says(WHOLE)
    (tmp_path / "DRIVER_VERSION").write_text(f"{driver}\n")
    found = cards.usable(cards.Build("2.13.0", cuda))
    assert bool(found.names) == enough
    if not enough:
        assert f"driver {driver} is too old for torch 2.13.0" in found.why
        assert f"built for CUDA {cuda} and needs driver" in found.why


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n",
         cards.Build("2.13.0+cpu", None)),
        ("__version__ = '2.13.0+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n",
         cards.Build("2.13.0+cu130", "13.0")),
        ('__version__ = "2.13.0+rocm7.1"\ncuda: Optional[str] = None\nhip: str = "7.1.25"\n',
         cards.Build("2.13.0+rocm7.1", None, "7.1.25")),
    ],
)  # fmt: skip
def test_a_build_is_read_without_loading_torch(monkeypatch, tmp_path, text, made):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it was loaded')\n")
    (package / "version.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert cards.build() == made


def test_this_environments_build_is_the_one_that_torch_tells():
    code = "import torch; print(torch.__version__, torch.version.cuda, torch.version.hip)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert " ".join(map(str, cards.build())) == told.stdout.strip()


# Jobs that take cards.

TAKES = "from residuum.neural import cards; import os, sys, time; cards.take(); "
TELLS = "print(os.environ['CUDA_VISIBLE_DEVICES'], os.environ.get('RESIDUUM_CARDS'), flush=True); "


@pytest.fixture
def job():
    """Return a function that starts a job among a test's own cards, and ends all jobs."""
    names, started = [f"{uuid.uuid4()}-{n}" for n in range(3)], []

    def start(words, number=3, each=1):
        places = ",".join(names[:number] * each)
        own = {"RESIDUUM_CARDS": places, "PYTHONPATH": str(ROOT / "workflow")}
        made = subprocess.Popen(
            [sys.executable, *words],
            env=own,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(made)
        return made

    start.names = names
    yield start
    for made in started:
        made.kill()
        made.communicate()


def test_jobs_side_by_side_take_different_cards_and_a_killed_one_frees_its_own(job):
    words = ["-c", TAKES + TELLS + "time.sleep(60)"]
    first, second = job(words, 2), job(words, 2)
    held = {made: made.stdout.readline().split() for made in (first, second)}
    assert {name for name, _ in held.values()} == set(job.names[:2])
    assert {none for _, none in held.values()} == {"None"}, "what it starts takes no more"
    third = job(words, 2)
    assert third.stderr.readline() == "waiting for 1 of 2 cards\n"
    second.send_signal(signal.SIGKILL)
    assert third.stdout.readline().split() == held[second]


def test_processes_that_train_together_take_their_cards_at_once(job):
    tells = "import os, time; " + TELLS + "time.sleep(60)"
    module = ["-m", "residuum.neural.cards", "2", sys.executable, "-c", tells]
    together = job(module)
    assert together.stdout.readline().split() == [",".join(job.names[:2]), "None"]
    alone = job(["-c", TAKES + TELLS + "time.sleep(60)"])
    assert alone.stdout.readline().split()[0] == job.names[2], "the command holds the others"
    waits = job(module)
    assert waits.stderr.readline() == "waiting for 2 of 3 cards\n"
    together.kill()
    assert waits.stdout.readline().split()[0] == ",".join(job.names[:2])


def test_jobs_that_share_cards_take_the_emptier_one(job):
    words = ["-c", TAKES + TELLS + "time.sleep(60)"]

    def started(count):
        made = [job(words, 2, each=2) for _ in range(count)]
        return [(one.stdout.readline().split()[0], one) for one in made]

    held = started(1)
    held += started(1)
    assert {name for name, _ in held} == set(job.names[:2]), "one on each, before two on one"
    held += started(2)
    fifth = job(words, 2, each=2)
    assert fifth.stderr.readline() == "waiting for 1 of 2 cards\n"
    first, second = job.names[:2]
    on_second = [one for name, one in held if name == second]
    on_second[0].kill()
    assert fifth.stdout.readline().split()[0] == second
    for one in [fifth, on_second[1], next(one for name, one in held if name == first)]:
        one.kill()
        one.wait()
    [(taken, _)] = started(1)
    assert taken == second, "which is empty, where the first has a job"


def test_processes_that_train_together_take_different_cards_of_shared_ones(job):
    """Of the first card two slots are free, of the second one only."""
    words = ["-c", TAKES + TELLS + "time.sleep(60)"]
    alone = job(words, 2, each=2)
    assert alone.stdout.readline().split()[0] == job.names[0]
    tells = "import os, time; " + TELLS
    together = job(["-m", "residuum.neural.cards", "2", sys.executable, "-c", tells], 2, each=2)
    assert {*together.stdout.readline().split()[0].split(",")} == {*job.names[:2]}


def test_a_slot_that_is_freed_while_it_is_looked_at_is_taken_at_the_next_look(monkeypatch):
    name = f"{uuid.uuid4()}"
    monkeypatch.setattr(cards, "_bound", lambda address: False)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(f"\0residuum-card-{name}")
        assert cards._hold([name], 1) == []
    assert cards._hold([name], 1) == [name]
    cards._held.pop().close()


def test_where_no_socket_can_be_named_a_job_fails_at_once(monkeypatch):
    """It would wait for a card that nobody holds."""

    class Refused(socket.socket):
        def bind(self, address):
            raise PermissionError("not permitted")

    monkeypatch.setattr(cards.socket, "socket", Refused)
    monkeypatch.setenv(cards.NAMES, "GPU-a")
    with pytest.raises(PermissionError, match="not permitted"):
        cards.take()


def test_more_cards_than_a_run_has_are_refused(job):
    out, message = job(["-m", "residuum.neural.cards", "3", "true"], 2).communicate()
    assert message.startswith("error: 3 cards are requested, and this run has 2: ") and not out


def test_where_no_run_names_cards_none_is_taken(monkeypatch):
    """As on a cluster, whose scheduler has said what CUDA sees."""
    monkeypatch.setenv(cards.VISIBLE, "3")
    cards.take()
    monkeypatch.setenv(cards.NAMES, "")
    cards.take(2)
    assert os.environ[cards.VISIBLE] == "3"


def test_a_number_that_no_run_can_have_is_no_wait_for_ever(monkeypatch):
    monkeypatch.setenv(cards.NAMES, "a,b")
    with pytest.raises(ResiduumError, match="Set `gpus` to 2 at most"):
        cards.take(3)

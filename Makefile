# Two commands: `make mini` runs the main job on the generated collection, `make test` the tests.
# `make papers` runs the main job of all papers there; `make mini` leaves those out that train longest.
# Both first install the pinned lock, and the command `residuum`, into .venv (once).
PYTHON ?= python3
VENV   ?= .venv
CORES  ?= all
BIN    := $(VENV)/bin
# One line of progress in place of Snakemake's messages, which VERBOSE=1 brings back.
LOGGER := $(if $(VERBOSE),,--logger residuum)
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile
# As pip would, but on all cores, also where PYTHONDONTWRITEBYTECODE is set: there no process would
# keep what it compiles. A package may ship a file that is no Python of this version.
# Left out: the tests of packages, and the models of transformers, of which a job imports two or three.
COMPILE = @$(BIN)/python -m compileall -q -q -j 0 -x '/tests/|/transformers/models/' $(VENV)/lib || true

.PHONY: mini papers smoke test fuzz check form types lint docs cluster notebooks gallery generated install clean

mini: install
	$(BIN)/snakemake --cores $(CORES) $(LOGGER) --config scale=mini 'papers=[clear,dualrm,lexical-baselines]'

papers: install
	$(BIN)/snakemake --cores $(CORES) $(LOGGER) --config scale=mini

smoke: install
	$(BIN)/snakemake --cores $(CORES) $(LOGGER) --config scale=smoke

test: install $(VENV)/test.lock
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Readers of files of others, 10,000 files drawn at random for each and each kind: half an hour or more.
fuzz: install $(VENV)/test.lock
	RESIDUUM_FUZZ=10000 $(BIN)/python -m pytest -n 2 tests/fuzz

check: form types lint

form: install $(VENV)/test.lock
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile rules

types: install $(VENV)/test.lock
	$(BIN)/mypy

lint: install $(VENV)/test.lock
	$(BIN)/snakemake --lint

# The docs as a site that opens from disk; a link that leads nowhere ends it.
docs: install $(VENV)/docs.lock
	$(BIN)/python docs/site/assemble.py build/docs
	$(BIN)/zensical build --strict --config-file build/docs/zensical.toml
	@echo "open build/docs/site/index.html"

# The scale smoke through SLURM, with faults; as root, on a machine that has no cluster.
cluster: install $(VENV)/test.lock
	$(PIP) --no-deps -r requirements-slurm.lock
	$(BIN)/python tests/cluster/run.py

# The notebooks of docs/notebooks, run on the results of `make mini`, with what they show.
notebooks: install $(VENV)/test.lock
	$(BIN)/python docs/site/notebooks.py

gallery: install $(VENV)/test.lock
	$(BIN)/python docs/gallery/pictures.py results/mini/report

generated: install $(VENV)/test.lock
	PYTHONPATH=workflow $(BIN)/python -m residuum.config.loading schema
	PYTHONPATH=workflow:tests $(BIN)/python tests/code/test_reach.py

install: $(BIN)/residuum

# Two pips at once, each given 28 packages until none is left, so that they end about together;
# torch again with its dependencies, for those of a build for cards.
$(VENV)/run.lock: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "residuum needs Python 3.11 or newer; name one: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	@echo "installing the pinned packages into $(VENV)"
	grep -v '^#' requirements.lock | xargs -n 28 -P 2 $(PIP) --no-deps
	$(PIP) $$(grep '^torch==' requirements.lock)
	$(COMPILE)
	@cp requirements.lock $@

$(BIN)/residuum: pyproject.toml $(VENV)/run.lock
	$(PIP) --no-deps --editable .
	@touch $@

$(VENV)/test.lock: requirements-test.lock $(BIN)/residuum
	$(PIP) --no-deps -r requirements-test.lock
	$(COMPILE)
	@cp requirements-test.lock $@

$(VENV)/docs.lock: requirements-docs.lock $(BIN)/residuum
	$(PIP) --no-deps -r requirements-docs.lock
	@cp requirements-docs.lock $@

clean:
	find results -mindepth 1 -maxdepth 1 ! -name README.md ! -name answers -exec rm -rf {} +

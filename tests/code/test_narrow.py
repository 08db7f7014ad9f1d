"""What cannot change a result does not change the hash, and no more is reached than is used."""

import pytest

from code_packages import changes, library, lines, reached
from residuum.code.closure import kinds_of

NOTHING = {
    "a comment": ("VERB():\n    return 1\n", "return 1", "return 1  # one"),
    "a docstring": ("VERB():\n    '''A.'''\n    return 1\n", "A.", "B."),
    "the layout": ("VERB():\n    return [1, 2]\n", "[1, 2]", "[\n1,\n2,\n]"),
    "an annotation of a function": (
        "VERB():\n    return f(1)\ndef f(x: int) -> int:\n    return x\n",
        "x: int", "x: float",
    ),
    "an annotation of a variable": (
        "VERB():\n    x: int = 1\n    return x\n", "x: int", "x: float",
    ),
    "the words of an error": ("VERB():\n    raise ValueError('no')\n", "no", "never"),
    "what the words of an error are made of": (
        "VERB(x):\n    if x:\n        said = ' and '.join(x)\n"
        "        raise ValueError(f'no {said}')\n", "' and '.join(x)", "f(x)",
    ),
    "the words of an error that a function raises for another": (
        "def no(x):\n    raise ValueError(f'no {x}')\nVERB(x):\n    no(x)\n",
        "no {x}", "never {x}",
    ),
    "the words of an assertion": ("VERB(x):\n    assert x, 'no'\n", "no", "yes"),
    "a message": ("VERB(x):\n    print(f'read {x} docs')\n", " docs", " texts"),
    "a message on standard error": (
        "import sys\nVERB(x):\n    print('a', file=sys.stderr)\n", "'a'", "'b'",
    ),
    "a message that is made before": (
        "VERB(x):\n    said = f'{x} docs' if x else 'none'\n    print(said)\n",
        "none", "not one",
    ),
    "the words of an error that is caught without its text": (
        "VERB(x):\n    try:\n        raise KeyError('no')\n"
        "    except KeyError as error:\n        raise ValueError(f'bad: {error}') from error\n",
        "'no'", "'never'",
    ),
    "the words of an error that is caught for a message": (
        "VERB(x):\n    try:\n        raise ValueError('no')\n    except ValueError as error:\n"
        "        print(f'bad: {type(error).__name__} {str(error)}')\n", "'no'", "'never'",
    ),
    "names that a message joins": (
        "VERB(x):\n    names = ['a']\n    print(f\"{len(names)}: {', '.join(names)}\")\n",
        "'a'", "'b'",
    ),
    "the help of an option": (
        "VERB(x: int = typer.Option(1, help='a number')):\n    return x\n",
        "a number", "a whole number",
    ),
    "the description of a field": (
        "from pydantic import BaseModel, Field\nclass A(BaseModel):\n"
        "    k: int = Field(1, description='a number')\nVERB():\n    return A()\n",
        "a number", "a whole number",
    ),
    "an import that is for types only": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from residuum.a import T\n"
        "VERB(x: 'T'):\n    return x\n", "a import T", "a import T, U",
    ),
    "another verb": (
        "VERB():\n    return 1\n@app.command('other')\ndef b():\n    return 2\n",
        "return 2", "return 3",
    ),
    "a function that is not used": (
        "VERB():\n    return 1\ndef unused():\n    return 2\n", "return 2", "return 3",
    ),
    "the order of functions": (
        "VERB():\n    return f() + g()\ndef f():\n    return 1\n"
        "def g():\n    return 2\n",
        "def f():\n    return 1\ndef g():\n    return 2\n",
        "def g():\n    return 2\ndef f():\n    return 1\n",
    ),
    "a local name that is that of a function": (
        "VERB(f):\n    return f\ndef f():\n    return 1\n", "return 1", "return 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NOTHING)
def test_a_change_of_words_changes_nothing(tmp_path, what):
    text, old, new = NOTHING[what]
    assert not changes(tmp_path, {"s.py": text, "a.py": ""}, "s.py", old, new)


REFUSAL = {
    "s.py": "from residuum.artefacts.columns import refuse\n"
    "VERB(x):\n    refuse('a.tsv', x, x > 1, 'the values must be small')\n",
    "artefacts/columns.py": "def refuse(path, table, bad, rule):\n    raise ValueError(rule)\n",
}


def test_the_words_of_a_refusal_change_nothing_unless_they_are_written(tmp_path):
    assert not changes(tmp_path, REFUSAL, "s.py", "must be small", "must not be large")
    assert changes(tmp_path / "rule", REFUSAL, "s.py", "x > 1", "x > 2")
    caught = "VERB(x):\n    try:\n        check(x)\n    except ValueError as error:\n"
    caught += "        return str(error)\ndef check(x):\n"
    files = {**REFUSAL, "s.py": REFUSAL["s.py"].replace("VERB(x):\n", caught)}
    assert changes(tmp_path / "caught", files, "s.py", "must be small", "must not be large")


def test_the_word_for_an_entry_of_a_table_changes_nothing(tmp_path):
    assert not changes(tmp_path, TABLE, "s.py", "'loss')", "'kind of loss')", "a")


def test_to_ask_an_error_whether_the_memory_ended_is_not_to_read_our_words(tmp_path):
    asking = "from residuum.neural.cudagraphs import out_of_memory\nVERB(x):\n    try:\n"
    asking += "        check(x)\n    except RuntimeError as error:\n"
    asking += "        return out_of_memory(error)\ndef check(x):\n    raise ValueError('no')\n"
    files = {"s.py": asking, "neural/__init__.py": ""}
    files["neural/cudagraphs.py"] = "def out_of_memory(error):\n    return 'memory' in str(error)\n"
    assert not changes(tmp_path, files, "s.py", "'no'", "'never'")
    files["s.py"] = asking.replace("return out_of_memory(error)", "return str(error)")
    assert changes(tmp_path / "read", files, "s.py", "'no'", "'never'")


def test_a_comment_in_a_file_of_words_changes_nothing(tmp_path):
    text = "from residuum.config.roots import packaged\nVERB():\n    return packaged('w.yaml')\n"
    files = {"s.py": text, "w.yaml": "a: [1, 2]\n"}
    assert not changes(tmp_path, files, "w.yaml", "a: [1, 2]", "# Numbers\na:\n  - 1\n  - 2")
    assert changes(tmp_path / "order", files, "w.yaml", "1, 2", "2, 1")


def test_what_is_imported_is_reached_by_name_not_by_module(tmp_path):
    files = {
        "s.py": "from residuum import a\nVERB():\n    return a.f()\n",
        "a.py": "from residuum import b\nfrom residuum.b import g\nK = 1\n"
        "def f():\n    return K\ndef h():\n    return g(b.L)\n",
        "b.py": "L = 2\ndef g(x):\n    return x\n",
    }
    assert reached(tmp_path, files) == {"s:make", "a:f", "a:K"}


def test_a_file_that_was_read_is_not_taken_apart_again_unless_its_text_changes(tmp_path):
    files = {"s.py": "VERB():\n    return 1\n"}
    first = lines(tmp_path, files)
    kept = tmp_path / "residuum" / "__pycache__" / "s.statements"
    stamp = kept.stat().st_mtime_ns
    (tmp_path / "residuum" / "s.py").touch()
    assert lines(tmp_path, files) == first and kept.stat().st_mtime_ns == stamp
    kept.write_bytes(b"damaged")
    assert lines(tmp_path, files) == first


def test_a_module_that_takes_another_name_takes_what_was_read_of_it_not_along(tmp_path):
    text = "def f():\n    return g()\ndef g():\n    return 1\n"
    files = {"s.py": "from residuum.a import f\nVERB():\n    return f()\n", "a.py": text}
    assert reached(tmp_path, files) == {"s:make", "a:f", "a:g"}
    kept = tmp_path / "residuum" / "__pycache__"
    (kept / "a.statements").rename(kept / "b.statements")
    files = {"s.py": files["s.py"].replace(".a ", ".b "), "b.py": text}
    assert reached(tmp_path, files) == {"s:make", "b:f", "b:g"}


UNION = {
    "s.py": "from residuum.forms import Form\nVERB(x):\n    return Form(x)\n",
    "forms.py": "from typing import Annotated, Literal\nfrom pydantic import BaseModel, Field\n"
    "class A(BaseModel):\n    kind: Literal['a']\n    k: int = 1\n"
    "class B(BaseModel):\n    kind: Literal['b', 'c']\n    k: int = 2\n"
    "Loss = Annotated[A | B, Field(discriminator='kind')]\n"
    "class Form(BaseModel):\n    loss: Loss\n    other: A | B = Field(discriminator='kind')\n",
}
TABLE = {
    "s.py": "from residuum.code.tables import OpenTable\n"
    "LOSSES: OpenTable[object] = OpenTable({'a': 'residuum.a:f', 'b': 'residuum.b:g'}, 'loss')\n"
    "VERB(x):\n    return LOSSES[x]()\n",
    "a.py": "def f():\n    return 1\n",
    "b.py": "def g():\n    return 2\ndef h():\n    return 3\n",
}


@pytest.mark.parametrize(("kinds", "members"), [
    (["a"], {"A"}), (["c", "x"], {"B"}), (["a", "b"], {"A", "B"}), (["x"], set()), ([], {"A", "B"}),
])  # fmt: skip
def test_the_kinds_of_the_spec_choose_the_members_of_a_union(tmp_path, kinds, members):
    result = reached(tmp_path, UNION, *kinds)
    assert {name.removeprefix("forms:") for name in result} & {"A", "B"} == members


def test_a_new_member_of_a_union_changes_no_job_that_does_not_name_it(tmp_path):
    new = "Loss = Annotated[A | B | C, Field(discriminator='kind')]\n"
    files = {**UNION, "forms.py": UNION["forms.py"].replace(
        "Loss =", "class C(BaseModel):\n    kind: Literal['d']\nLoss =")}  # fmt: skip
    old = "Loss = Annotated[A | B, Field(discriminator='kind')]\n"
    assert not changes(tmp_path, files, "forms.py", old, new, "a")
    assert changes(tmp_path / "d", files, "forms.py", old, new, "d")


def test_a_union_that_is_not_told_apart_by_kind_counts_whole(tmp_path):
    text = UNION["forms.py"].replace("discriminator='kind'", "union_mode='left_to_right'")
    assert {"forms:A", "forms:B"} <= reached(tmp_path, {**UNION, "forms.py": text}, "a")


@pytest.mark.parametrize(("kinds", "entries"), [
    (["a"], {"a:f"}), (["a", "b"], {"a:f", "b:g"}), (["x"], set()), ([], {"a:f", "b:g"}),
])  # fmt: skip
def test_the_kinds_of_the_spec_choose_the_entries_of_a_table(tmp_path, kinds, entries):
    result = reached(tmp_path, TABLE, *kinds)
    assert result - {"s:make", "s:LOSSES"} == entries


def test_a_new_entry_of_a_table_changes_no_job_that_does_not_name_it(tmp_path):
    edit = ("s.py", "'b': 'residuum.b:g'", "'b': 'residuum.b:g', 'c': 'residuum.b:h'")
    assert not changes(tmp_path, TABLE, *edit, "a")
    assert changes(tmp_path / "c", TABLE, *edit, "c")


def test_an_entry_that_stands_elsewhere_is_seen(tmp_path):
    edit = ("s.py", "residuum.b:g", "residuum.b:h")
    assert changes(tmp_path, TABLE, *edit, "b")
    assert not changes(tmp_path / "a", TABLE, *edit, "a")


def test_a_field_that_holds_an_entry_follows_the_table(tmp_path):
    form = (
        "from typing import Annotated\nfrom pydantic import BaseModel\n"
        "from residuum.code.tables import Kinds\nclass Form(BaseModel):\n"
        "    loss: Annotated[object, Kinds('residuum.t:LOSSES')]\n"
    )
    files = {
        "s.py": "from residuum.forms import Form\nVERB(x):\n    return Form(loss=x)\n",
        "forms.py": form,
        "t.py": "from residuum.code.tables import OpenTable\n"
        "LOSSES = OpenTable({'a': 'residuum.a:f', 'b': 'residuum.b:g'})\n",
        "code/tables.py": "class OpenTable: ...\nclass Kinds: ...\n",
        "a.py": "def f():\n    return 1\n",
        "b.py": "import random\nrandom.seed(1)\ndef g():\n    return 2\n",
    }
    result = reached(tmp_path, files, "a")
    assert result == {"s:make", "forms:Form", "t:LOSSES", "a:f", "b:"}, "b is imported, not used"


@pytest.mark.parametrize("table", ["OpenTable(ENTRIES)", "OpenTable({'a': NAME})", "OpenTable()"])
def test_a_table_that_is_not_written_out_is_refused(tmp_path, table):
    text = f"from residuum.code.tables import OpenTable\nNAME = 'residuum.a:f'\nT = {table}\n"
    stage = "from residuum.t import T\nVERB(x):\n    return T[x]\n"
    with pytest.raises(ValueError, match=r"t\.py, line 3: write the entries of the table out"):
        lines(tmp_path, {"s.py": stage, "t.py": text.replace("ENTRIES", "{**NAME}")})


def test_kinds_are_read_anywhere_in_the_json_of_a_command():
    spec = '{"kind": "dual", "loss": [{"kind": "nll", "of": {"kind": 1}}], "kinds": {"x": "y"}}'
    assert kinds_of("make", "--spec", spec, "{not json", "[]") == {"dual", "nll"}
    assert kinds_of("make", "--spec", '{"k": 10}') is None


def test_a_measure_is_of_a_kind_by_its_name():
    own, options = "AnswerAccuracy@20", "--measure 'AP' --measure 'nDCG(dcg='\\''exp'\\'')@5'"
    assert kinds_of(options) == kinds_of("run", "--measure", "AP", "--measure", "nDCG") == {
        "AP", "nDCG"}  # fmt: skip
    assert kinds_of(f"--measure '{own}'") == kinds_of(f"--measure={own}") == {"AnswerAccuracy"}
    spec = '{"kind": "figure", "panels": [{"measure": "RR@10"}], "measures": ["%s", "x y@20"]}'
    assert kinds_of("draw", "--spec", spec % own) == {"figure", "RR", "AnswerAccuracy"}
    assert kinds_of("train", "--output", "models/clear@20.train/seed1") is None


def test_what_is_outside_of_the_package_is_named_and_not_followed(tmp_path):
    text = "import json as j\nVERB(x):\n    return j.dumps(x)\n"
    assert lines(tmp_path, {"s.py": text}) != lines(
        tmp_path / "b", {"s.py": text.replace("import json", "import pickle")}
    )
    assert library(tmp_path, {}).find("json:dumps") == ["json:dumps"]

"""Whatever can change a result changes the hash, however the code is reached."""

import pytest

from code_packages import changes, lines

COLUMNS = {
    "artefacts/columns.py": "def refuse(path, table, bad, rule):\n    raise ValueError(rule)\n"
}
REFUSING = "from residuum.artefacts.columns import refuse\nVERB(x):\n"
# What stands beside the stage; how the verb reaches it; what is edited there.
WAYS = {
    "a constant through another module's attribute": (
        "from residuum import a\nVERB():\n    return a.LIMIT\n",
        {"a.py": "LIMIT = 1\n"}, "a.py", "1", "2",
    ),
    "a constant of a function that is called by a function": (
        "from residuum.a import f\nVERB():\n    return f()\n",
        {"a.py": "from residuum.b import g\ndef f():\n    return g()\n",
         "b.py": "K = 0.6\ndef g():\n    return K\n"}, "b.py", "0.6", "0.9",
    ),
    "an operator in a method": (
        "from residuum.a import A\nVERB():\n    return A().f()\n",
        {"a.py": "class A:\n    def f(self):\n        return 1 + 2\n"}, "a.py", "1 + 2", "1 - 2",
    ),
    "a default argument": (
        "from residuum.a import f\nVERB():\n    return f()\n",
        {"a.py": "def f(k=10):\n    return k\n"}, "a.py", "10", "20",
    ),
    "the constant behind a default argument": (
        "from residuum.a import f\nVERB():\n    return f()\n",
        {"a.py": "K = 10\ndef f(k=K):\n    return k\n"}, "a.py", "10", "20",
    ),
    "a decorator": (
        "from residuum.a import f\nVERB():\n    return f()\n",
        {"a.py": "def twice(g):\n    return lambda: 2 * g()\n@twice\ndef f():\n    return 1\n"},
        "a.py", "2 * g", "3 * g",
    ),
    "a global that another module sets where it is imported": (
        "from residuum import a, b\nVERB():\n    return a.K\n",
        {"a.py": "K = 1\n", "b.py": "from residuum import a\na.K = 2\n"}, "b.py", "2", "3",
    ),
    "a global that a function sets in another module": (
        "from residuum import a, b\nVERB():\n    b.set()\n    return a.K\n",
        {"a.py": "K = 1\n", "b.py": "from residuum import a\ndef set():\n    a.K = 2\n"},
        "b.py", "2", "3",
    ),
    "a global that a function sets in its own": (
        "from residuum import a\nVERB():\n    a.set()\n    return a.f()\n",
        {"a.py": "K = 1\ndef set():\n    global K\n    K += 1\ndef f():\n    return K\n"},
        "a.py", "K = 1", "K = 5",
    ),
    "the environment that a module sets": (
        "from residuum import a\nVERB():\n    return a.f()\n",
        {"a.py": "import os\nos.environ['X'] = '1'\ndef f():\n    return 1\n"},
        "a.py", "'1'", "'2'",
    ),
    "what a module that is imported by an imported one does": (
        "from residuum import a\nVERB():\n    return a.f()\n",
        {"a.py": "import residuum.b\ndef f():\n    return 1\n",
         "b.py": "import random\nrandom.seed(1)\n"}, "b.py", "1", "2",
    ),
    "what the package of an entry of a table does": (
        "from residuum.code.tables import OpenTable\n"
        "LOSSES: OpenTable[object] = OpenTable({'a': 'residuum.k.m:f'}, 'loss')\n"
        "VERB(kind):\n    return LOSSES[kind]()\n",
        {"code/tables.py": "class OpenTable: ...\n", "k/m.py": "def f():\n    return 1\n",
         "k/__init__.py": "import random\nrandom.seed(1)\n"}, "k/__init__.py", "1", "2",
    ),
    "what the package around a stage does": (
        "VERB():\n    return 1\n", {"__init__.py": "import random\nrandom.seed(1)\n"},
        "__init__.py", "1", "2",
    ),
    "what a function that is run for its effect does": (
        "from residuum import a\nVERB():\n    return a.TABLE['x']\n",
        {"a.py": "TABLE = {}\ndef note(k, v):\n    TABLE[k] = v\nONE = note('x', 1)\n"},
        "a.py", "'x', 1", "'x', 2",
    ),
    "what a decorator puts into a table": (
        "from residuum import a\nVERB():\n    return a.TABLE['f']()\n",
        {"a.py": "TABLE = {}\ndef note(f):\n    TABLE[f.__name__] = f\n    return f\n"
                 "@note\ndef f():\n    return 1\n"}, "a.py", "return 1", "return 2",
    ),
    "a class attribute": (
        "from residuum.a import A\nVERB():\n    return A.k\n",
        {"a.py": "class A:\n    k = 1\n"}, "a.py", "1", "2",
    ),
    "a class attribute that is set from outside": (
        "from residuum.a import A\nVERB():\n    return A.k\n",
        {"a.py": "class A:\n    k = 1\nA.k = 2\n"}, "a.py", "2", "3",
    ),
    "a method of a base class in another module": (
        "from residuum.a import A\nVERB():\n    return A().f()\n",
        {"a.py": "from residuum.b import B\nclass A(B):\n    pass\n",
         "b.py": "class B:\n    def f(self):\n        return 1\n"}, "b.py", "1", "2",
    ),
    "an override of a method that a base class calls": (
        "from residuum.a import A\nVERB():\n    return A().f()\n",
        {"a.py": "class B:\n    def f(self):\n        return self.g()\n"
                 "class A(B):\n    def g(self):\n        return 1\n"}, "a.py", "1", "2",
    ),
    "functools.partial": (
        "from functools import partial\nfrom residuum import a\nHALF = partial(a.f, 0.5)\n"
        "VERB():\n    return HALF()\n",
        {"a.py": "def f(x):\n    return x * 2\n"}, "a.py", "* 2", "* 3",
    ),
    "a table of lambdas": (
        "from residuum.a import TABLE\nVERB(x):\n    return TABLE[x](1)\n",
        {"a.py": "TABLE = {'a': lambda x: x + 1}\n"}, "a.py", "+ 1", "+ 2",
    ),
    "a name that a package passes on": (
        "from residuum import p\nVERB():\n    return p.f()\n",
        {"p/__init__.py": "from residuum.p.a import g as f\n",
         "p/a.py": "def g():\n    return 1\n"},
        "p/a.py", "1", "2",
    ),
    "which name a package passes on": (
        "from residuum.p import f\nVERB():\n    return f()\n",
        {"p/__init__.py": "from residuum.p.a import g as f\n",
         "p/a.py": "def g():\n    return 1\ndef h():\n    return 2\n"},
        "p/__init__.py", "g as f", "h as f",
    ),
    "two names that an import exchanges": (
        "from residuum.a import f, g\nVERB():\n    return f() - g()\n",
        {"a.py": "def f():\n    return 1\ndef g():\n    return 2\n"},
        "s.py", "import f, g", "import f as g, g as f",
    ),
    "a function of the standard library that an import exchanges": (
        "from math import floor as whole\nVERB():\n    return whole(1.5)\n",
        {}, "s.py", "floor", "ceil",
    ),
    "another name for a function": (
        "from residuum.a import f\ng = f\nVERB():\n    return g()\n",
        {"a.py": "def f():\n    return 1\n"}, "a.py", "1", "2",
    ),
    "another name for a module": (
        "import residuum.a as b\nc = b\nVERB():\n    return c.f()\n",
        {"a.py": "def f():\n    return 1\n"}, "a.py", "1", "2",
    ),
    "an attribute of a module by a name that is made when it runs": (
        "from residuum import a\nVERB(x):\n    return getattr(a, x)()\n",
        {"a.py": "def f():\n    return 1\n"}, "a.py", "1", "2",
    ),
    "an import by the whole path": (
        "import residuum.p.a\nVERB():\n    return residuum.p.a.f()\n",
        {"p/a.py": "def f():\n    return 1\n"}, "p/a.py", "1", "2",
    ),
    "an import inside a function": (
        "VERB():\n    from residuum import a\n    return a.f()\n",
        {"a.py": "def f():\n    return 1\n"}, "a.py", "1", "2",
    ),
    "the other branch of an import": (
        "try:\n    from residuum.a import f\nexcept ImportError:\n    from residuum.b import f\n"
        "VERB():\n    return f()\n",
        {"a.py": "def f():\n    return 1\n", "b.py": "def f():\n    return 2\n"}, "b.py", "2", "3",
    ),
    "the condition of an import": (
        "import os\nif os.name == 'posix':\n    from residuum.a import f\nelse:\n"
        "    f = None\nVERB():\n    return f()\n",
        {"a.py": "def f():\n    return 1\n"}, "s.py", "posix", "nt",
    ),
    "the default of a field": (
        "from residuum.a import A\nVERB():\n    return A().k\n",
        {"a.py": "from dataclasses import dataclass\n@dataclass\nclass A:\n    k: int = 1\n"},
        "a.py", "1", "2",
    ),
    "the type of a field, which a schema checks": (
        "from residuum.a import A\nVERB(x):\n    return A(k=x).k\n",
        {"a.py": "from pydantic import BaseModel\nclass A(BaseModel):\n    k: int\n"},
        "a.py", "int", "float",
    ),
    "the bound of a field's type in another module": (
        "from residuum.a import A\nVERB(x):\n    return A(k=x).k\n",
        {"a.py": "from pydantic import BaseModel\nfrom residuum.b import Positive\n"
                 "class A(BaseModel):\n    k: list[Positive]\n",
         "b.py": "from typing import Annotated\nfrom pydantic import Field\n"
                 "Positive = Annotated[int, Field(gt=0)]\n"}, "b.py", "gt=0", "ge=0",
    ),
    "a field's type that is written as a text": (
        "from residuum.a import A\nVERB(x):\n    return A(k=x).k\n",
        {"a.py": "from typing import Annotated\nfrom pydantic import BaseModel, Field\n"
                 "class A(BaseModel):\n    k: 'list[Small]'\n"
                 "Small = Annotated[int, Field(lt=9)]\n"}, "a.py", "lt=9", "lt=5",
    ),
    "the order of fields": (
        "from residuum.a import A\nVERB():\n    return A(1, 2)\n",
        {"a.py": "from typing import NamedTuple\nclass A(NamedTuple):\n    x: int\n    y: int\n"},
        "a.py", "x: int\n    y: int", "y: int\n    x: int",
    ),
    "a member of an enumeration": (
        "from residuum.a import A\nVERB():\n    return A.X.value\n",
        {"a.py": "from enum import Enum\nclass A(Enum):\n    X = 1\n"}, "a.py", "1", "2",
    ),
    "a nested function": (
        "from residuum.a import f\nVERB():\n    return f()\n",
        {"a.py": "K = 1\ndef f():\n    def g():\n        return K\n    return g()\n"},
        "a.py", "K = 1", "K = 2",
    ),
    "a function whose name is that of a scope": (
        "from residuum.a import top\nVERB():\n    return top()\n",
        {"a.py": "K = 1\ndef top():\n    return K\n"}, "a.py", "K = 1", "K = 2",
    ),
    "a name that a class takes from its module before it binds it": (
        "from residuum.a import A\nVERB():\n    return A.k\n",
        {"a.py": "k = 1\nclass A:\n    k = k\n"}, "a.py", "k = 1", "k = 2",
    ),
    "a comprehension": (
        "K = 2\nVERB():\n    return [K for _ in range(3)]\n", {},
        "s.py", "K = 2", "K = 3",
    ),
    "a local name that shadows a global elsewhere": (
        "K = 2\nVERB():\n    def g(K):\n        return K\n    return g(K)\n", {},
        "s.py", "K = 2", "K = 3",
    ),
    "the type of an option, which is what the command line is read as": (
        "VERB(k: int = 1):\n    return k\n", {}, "s.py", "int", "str",
    ),
    "what a message does besides": (
        "VERB(lines):\n    print(f'first {next(lines)}')\n", {},
        "s.py", "next(lines)", "lines",
    ),
    "a value that a message binds": (
        "VERB():\n    print(kind := 'a')\n    return kind\n", {}, "s.py", "'a'", "'b'",
    ),
    "a value that is yielded within a message": (
        "VERB():\n    print((yield 'a'))\n", {}, "s.py", "'a'", "'b'",
    ),
    "a key that a message may add": (
        "VERB(counts):\n    print(f\"{counts['a']} docs\")\n    return list(counts)\n", {},
        "s.py", "'a'", "'b'",
    ),
    "a text that is printed into a file": (
        "VERB(f):\n    print('a line', file=f)\n", {}, "s.py", "a line", "another",
    ),
    "a key that a local name holds and a message takes out": (
        "VERB(x):\n    key = 'a'\n    print(x.pop(key))\n    return x\n", {}, "s.py", "'a'", "'b'",
    ),
    "a key that a local name holds and a message may add": (
        "VERB(x):\n    key = 'a'\n    print(x[key])\n    return x\n", {}, "s.py", "'a'", "'b'",
    ),
    "a key that is one of those that a message works through": (
        "VERB(x):\n    keys = ['a']\n    print([x.pop(key) for key in keys])\n    return x\n", {},
        "s.py", "'a'", "'b'",
    ),
    "a file that is written within a message, of a name made before": (
        "VERB():\n    name = 'a'\n    print(open(name, 'w').write('z'))\n", {},
        "s.py", "'a'", "'b'",
    ),
    "what a text that only a message reads does besides": (
        "VERB(x):\n    key = 'a'\n    text = f'no {x.pop(key)}'\n    print(text)\n    return x\n",
        {}, "s.py", "'a'", "'b'",
    ),
    "a key that a message fills in by its own template": (
        "VERB(x):\n    print('{0[a]}'.format(x))\n    return x\n", {}, "s.py", "[a]", "[b]",
    ),
    "a file that a message moves": (
        "from pathlib import Path\nVERB():\n    print(Path('x').replace('a'))\n", {},
        "s.py", "'a'", "'b'",
    ),
    "a value that a message hands on": (
        "VERB():\n    names = ['a']\n    print(kept := names)\n    return kept\n", {},
        "s.py", "'a'", "'b'",
    ),
    "a value that is yielded within a message by its name": (
        "VERB():\n    name = 'a'\n    print((yield name))\n", {}, "s.py", "'a'", "'b'",
    ),
    "what the words of a refusal do besides": (
        REFUSING + "    key = 'a'\n    refuse('p', x, x, f'{key} {x.pop(key)}')\n    return x\n",
        COLUMNS, "s.py", "'a'", "'b'",
    ),
    "a value that the words of a refusal hand on": (
        REFUSING + "    names = ['a']\n    refuse('p', x, x, (kept := names))\n    return kept\n",
        COLUMNS, "s.py", "'a'", "'b'",
    ),
    "what stands beyond the first line of what is run in place of types": (
        "from residuum import a\nVERB():\n    return a.f()\n",
        {"a.py": "import random\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
                 "    from os import path as Y\nelse:\n    Y = 1\n    random.seed(1)\n"
                 "def f():\n    return random.random()\n"}, "a.py", "seed(1)", "seed(2)",
    ),
    "the items that progress is shown of": (
        "from residuum.cli.progress import track\nVERB():\n"
        "    return list(track(['a', 'b'], 'read'))\n",
        {"cli/progress.py": "def track(items, what):\n    yield from items\n"},
        "s.py", "'b'", "'c'",
    ),
    "a text that is kept as well as printed": (
        "VERB():\n    text = 'a'\n    print(text)\n    return text\n", {},
        "s.py", "'a'", "'b'",
    ),
    "the text of an error that is written into a result": (
        "from residuum.a import f\nVERB():\n    try:\n        f()\n"
        "    except ValueError as error:\n        return str(error)\n",
        {"a.py": "class Bad(ValueError):\n    pass\n"
                 "def f():\n    what = 'odd'\n    raise Bad(f'an {what} line')\n"},
        "a.py", "odd", "strange",
    ),
    "the text of an error that is yielded and written": (
        "from residuum.a import f\nVERB():\n    return [str(e) for e in f()]\n",
        {"a.py": "def f():\n    yield ValueError('odd')\n"}, "a.py", "odd", "strange",
    ),
    "the text of an error that is returned and written": (
        "from residuum.a import f\nVERB():\n    return str(f())\n",
        {"a.py": "def f():\n    return ValueError('odd')\n"}, "a.py", "odd", "strange",
    ),
    "the text of an error that the end of a `with` writes": (
        "from residuum.a import A\nVERB():\n    with A():\n        raise ValueError('odd')\n",
        {"a.py": "class A:\n    def __enter__(self):\n        pass\n"
                 "    def __exit__(self, kind, error, trace):\n        note(str(error))\n"
                 "def note(text):\n    open('x', 'w').write(text)\n"},
        "s.py", "odd", "strange",
    ),
    "the text of an error behind the one that is caught": (
        "VERB():\n    try:\n        f()\n    except ValueError as error:\n"
        "        return str(error.__cause__)\n"
        "def f():\n    raise ValueError('no') from KeyError('odd')\n", {}, "s.py", "odd", "strange",
    ),
    "the text of an assertion that is written into a result": (
        "VERB():\n    try:\n        f()\n    except AssertionError as error:\n"
        "        return str(error)\ndef f():\n    assert False, 'odd'\n", {}, "s.py",
        "odd", "strange",
    ),
    "the text of an error that writes it when it is made": (
        "from residuum.a import OddError\nVERB():\n    raise OddError('odd')\n",
        {"a.py": "class OddError(Exception):\n    def __init__(self, text):\n"
                 "        open('x', 'w').write(text)\n"}, "s.py", "'odd'", "'strange'",
    ),
    "what a function that makes an error does": (
        "from residuum.a import no\nVERB(x):\n    raise no(x, 'odd')\n",
        {"a.py": "def no(x, key):\n    x.pop(key)\n    return ValueError\n"},
        "s.py", "odd", "strange",
    ),
    "an argument of a function that is named as an error": (
        "from residuum.a import standardError\nVERB():\n    return standardError(3)\n",
        {"a.py": "def standardError(x):\n    return x\n"}, "s.py", "(3)", "(4)",
    ),
    "an argument of a class that is named as an error": (
        "from residuum.a import MeanError\nVERB():\n    return MeanError(3).x\n",
        {"a.py": "class MeanError:\n    def __init__(self, x):\n        self.x = x\n"},
        "s.py", "(3)", "(4)",
    ),
    "an error that is raised": (
        "VERB():\n    raise ValueError('no')\n", {}, "s.py", "ValueError", "KeyError",
    ),
    "what a generator yields before it raises an error": (
        "VERB(x):\n    if x:\n        sent = yield 1\n        raise ValueError(sent)\n", {},
        "s.py", "yield 1", "yield 2",
    ),
    "when an error is raised": (
        "VERB(x):\n    if x > 1:\n        raise ValueError('no')\n", {},
        "s.py", "> 1", "> 2",
    ),
    "a keyword of a field beside its description": (
        "from pydantic import BaseModel, Field\nclass A(BaseModel):\n"
        "    k: int = Field(1, description='a number')\nVERB():\n    return A().k\n",
        {}, "s.py", "Field(1", "Field(2",
    ),
    "the order of effects": (
        "from residuum import a\nVERB():\n    return a.L\n",
        {"a.py": "L = []\nL.append(1)\nL.append(2)\n"}, "a.py",
        "L.append(1)\nL.append(2)", "L.append(2)\nL.append(1)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_seen(tmp_path, way):
    stage, others, name, old, new = WAYS[way]
    assert changes(tmp_path, {"s.py": stage, **others}, name, old, new)


@pytest.mark.parametrize("made", [
    "from residuum.cli.errors import NotRun\ndef f():\n    raise NotRun('odd')\n",
    "from residuum.cli.errors import NotRun\ndef f():\n    words = 'odd'\n"
    "    raise NotRun(words)\n",
    "from residuum.cli.errors import NotRun\ndef g(words):\n    return NotRun(words)\n"
    "def f():\n    raise g('odd')\n",
    "from residuum.cli.errors import NotRun\nN = NotRun\ndef f():\n    raise N('odd')\n",
    "from residuum.cli.errors import NotRun\nclass N(NotRun):\n    pass\n"
    "def f():\n    raise N('odd')\n",
    "from residuum.cli.errors import NotRun\ndef f(kind=NotRun):\n    raise kind('odd')\n",
    "from residuum.b import NotRun\ndef f():\n    raise NotRun('odd')\n",
])  # fmt: skip
def test_the_reason_why_nothing_was_run_is_seen_however_it_is_made(tmp_path, made):
    stage = (
        "from residuum.cli.errors import NotRun\nfrom residuum.a import f\nVERB():\n"
        "    try:\n        f()\n    except NotRun as error:\n        return str(error)\n"
    )
    errors = {"cli/errors.py": "class NotRun(Exception):\n    pass\n"}
    files = {"s.py": stage, "a.py": made, "b.py": "from residuum.cli.errors import NotRun\n"}
    assert changes(tmp_path, {**files, **errors}, "a.py", "odd", "strange")


WORDS = (
    "from residuum.config.roots import packaged\nWORDS = packaged('words/one.yaml')\n"
    "def one():\n    return WORDS.read_text()\n"
    "def two():\n    return packaged('words/two.yaml').read_text()\n"
)


@pytest.mark.parametrize(("reader", "one", "two"), [("one", True, False), ("two", False, True)])
def test_a_file_of_the_package_counts_where_it_is_read(tmp_path, reader, one, two):
    stage = f"from residuum.a import {reader}\nVERB():\n    return {reader}()\n"
    files = {"s.py": stage, "a.py": WORDS, "words/one.yaml": "x", "words/two.yaml": "y"}
    before = lines(tmp_path, files)
    seen = [lines(tmp_path, {**files, f"words/{n}.yaml": "x: z"}) != before for n in ("one", "two")]
    assert seen == [one, two]


@pytest.mark.parametrize(("text", "why"), [
    ("from residuum.a import *\nVERB():\n    return 1\n", r"import \*"),
    ("from . import a\nVERB():\n    return a.f()\n", r"from \. import a"),
    ("VERB(x):\n    return globals()[x]()\n", "globals"),
    ("VERB(x):\n    return eval(x)\n", "eval"),
    ("import importlib\nVERB(x):\n    return importlib.import_module(x)\n",
     "importlib.import_module"),
    ("import sys\nVERB(x):\n    return sys.modules[x]\n", "sys.modules"),
    ("class A:\n    pass\nVERB():\n    return A.__subclasses__()\n",
     "__subclasses__"),
    ("class A:\n    def __init_subclass__(cls):\n        pass\n"
     "VERB():\n    return A()\n", "__init_subclass__"),
    ("class A(metaclass=type):\n    pass\nVERB():\n    return A()\n", "metaclass"),
    ("VERB():\n    'Text'\n    return make.__doc__\n", "__doc__"),
    ("VERB(table):\n    return table._what\n", "_what"),
    ("VERB(job):\n    return str(job.exception())\n", "exception"),
    ("VERB():\n    return missing()\n", "nothing binds the name missing"),
    ("from residuum.a import missing\nVERB():\n    return missing()\n",
     "residuum.a has no missing"),
    ("from residuum import a\nVERB():\n    return a.missing()\n",
     "residuum.a has no missing"),
    ("from residuum import missing\nVERB():\n    return missing.f()\n",
     "residuum has no missing"),
    ("from residuum.config.roots import packaged\nVERB(x):\n    return packaged(x)\n",
     "'' is not a file of data"),
    ("from residuum.config.roots import packaged\nVERB():\n    return packaged('s.py')\n",
     "'s.py' is not a file of data"),
    ("from pathlib import Path\nVERB(x):\n"
     "    return Path(__file__).with_name(x)\n", "__file__"),
    ("VERB(x):\n    return open(__file__)\n", "__file__"),
])  # fmt: skip
def test_what_cannot_be_followed_is_refused_with_its_place(tmp_path, text, why):
    with pytest.raises(ValueError, match=rf"s\.py, line \d+: .*{why}"):
        lines(tmp_path, {"s.py": text, "a.py": "def f():\n    return 1\n"})


def test_a_module_and_a_verb_that_are_missing_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"residuum\.s has no verb mak"):
        lines(tmp_path, {"s.py": "VERB():\n    pass\n"}, verb="mak")

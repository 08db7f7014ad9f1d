"""Small packages as text, and whether an edit changes the code behind a verb of one."""

from residuum.code.closure import Library, closure

STAGE = '''"""A stage. Command: `make`."""

import typer

app = typer.Typer()
'''
VERB = "@app.command()\ndef make"
TABLES = "class OpenTable: ...\n"
ROOTS = "def packaged(name): ...\n"


def library(folder, files):
    """Write a package called residuum, with a stage `s` whose verb is `make`; return it.

    `VERB(x):` in its text begins the verb's function.
    """
    files = {"code/tables.py": TABLES, "config/roots.py": ROOTS, **files}
    for name, text in files.items():
        path = folder / "residuum" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STAGE + text.replace("VERB", VERB) if name == "s.py" else text)
        for parent in path.relative_to(folder).parents:
            if parent.name and path.suffix == ".py":
                (folder / parent / "__init__.py").touch()
    return Library(folder / "residuum")


def lines(folder, files, *kinds, verb="make"):
    """Return the closure of the stage's verb."""
    return closure("residuum.s", verb, frozenset(kinds) or None, library(folder, files))


def reached(folder, files, *kinds, verb="make"):
    """Return the names of what is reached, as `module:name` without the package."""
    every = lines(folder, files, *kinds, verb=verb)
    return {line.split(" ")[0].removeprefix("residuum.") for line in every}


def changes(folder, files, name, old, new, *kinds):
    """Say whether an edit of one file changes the closure; the text must stand there."""
    assert files[name].count(old) == 1, old
    edited = {**files, name: files[name].replace(old, new)}
    return lines(folder / "a", files, *kinds) != lines(folder / "b", edited, *kinds)

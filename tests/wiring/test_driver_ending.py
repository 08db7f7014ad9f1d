"""What a run prints at its end."""

from pathlib import Path

from residuum.pages.layout import MORE
from residuum.wiring.driver import show


def test_pages_requested_by_name_are_printed(tmp_path):
    paths = _written(tmp_path, "a", "b")
    assert show(paths, "ledger.md", {paths[1]}) == f"\n{paths[1]}\n\nb\n"
    assert show(paths, "ledger.md", {"results/other"}) == ""
    assert show([*paths, "results/not-made"], "ledger.md", {paths[0]}).count("a\n") == 1


def test_of_all_pages_the_ledger_is_printed_up_to_its_mark(tmp_path):
    *paths, ledger = _written(tmp_path, "tables/a", "tables/b", "figures/c", "ledger")
    Path(ledger).write_text(f"counts\n{MORE}\nrows\n")
    text = show(paths, ledger, {"all"})
    counts = f"Pages: 2 in {tmp_path}/tables, 1 in {tmp_path}/figures, 1 in {tmp_path}"
    assert text == f"\n{counts}\n\n{ledger}\n\ncounts\n"


def _written(folder, *names):
    paths = [folder / f"{name}.md" for name in names]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{path.stem}\n")
    return [*map(str, paths)]

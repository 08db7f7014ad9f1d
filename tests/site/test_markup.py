"""Pages' Markdown as HTML: links of numbers, and notes of which the first are shown."""

import re

import pytest

from residuum.site import markup

GRID = "| row | a |\n|---|---|\n| x | 0.1 |\n"


def notes(count, start=1):
    return "".join(f"- note {number}\n" for number in range(start, start + count))


@pytest.mark.parametrize(("count", "folded"), [(0, 0), (1, 0), (5, 0), (6, 1), (7, 2), (40, 35)])
def test_five_notes_are_shown_and_the_rest_are_folded(count, folded):
    made = str(markup.html(f"{GRID}\n{notes(count)}"))
    shown, _, behind = made.partition('<details class="notes">')
    assert re.findall(r"note (\d+)", shown) == [str(n + 1) for n in range(count - folded)]
    inside, _, after = behind.partition("</details>")
    assert re.findall(r"<li>note (\d+)", inside) == [
        str(n + 1) for n in range(count - folded, count)
    ]
    assert not after.strip() and made.count("<ul>") == made.count("</ul>")
    if folded:
        assert f"<summary>{folded} more note{'s' if folded > 1 else ''}</summary>" in inside


def test_each_list_is_folded_by_itself_and_items_within_items_stay():
    within = "- note 1\n    - within a\n    - within b\n" + notes(4, 2)
    made = str(markup.html(f"{within}\nBetween.\n\n{notes(6)}\nAfter.\n"))
    assert made.count("<details") == 1 == made.count("</details>")
    assert made.index("within b") < made.index("Between.") < made.index("<details")
    assert made.index("</details>") < made.index("After.")


def test_numbers_link_to_their_page():
    here = str(markup.html(GRID, [[None, "x/a"]]))
    assert '<td id="x/a"><a class="number" href="#x/a">0.1</a></td>' in here
    there = str(markup.html(GRID, [[None, "x/a"]], 'toy/"t".html'))
    assert '<td><a class="number" href="toy/&quot;t&quot;.html#x/a">0.1</a></td>' in there

"""Convert a page's Markdown to HTML, in which numbers link to their details.

Usage: `html(text, places)`. Raw HTML, images and script links in the Markdown stay text.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import dropwhile, takewhile
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from residuum.pages.visible import visible
from residuum.site.text import shortened

# A wide grid scrolls on its own; tabindex lets the keyboard scroll it too.
OPENING = '<div class="scroll" tabindex="0" role="region" aria-label="As printed"><table>\n'
CLOSING = "</table></div>\n"
NOTES = 5  # shown of a list
FOLD = '</ul>\n<details class="notes"><summary>{}</summary>\n<ul>\n'
MOST = 5_000  # characters shown of a text without markup
Places = Sequence[Sequence[str | None]]  # for each cell of a grid's body, its number or None


def html(text: str, places: Places = (), page: str = "") -> Markup:
    """Return a page's Markdown as HTML without its title; cells of the first grid become links.

    Links lead to numbers of `page`, by default of the page that shows the text. Of a list of notes
    the first NOTES are shown; a click opens the rest.
    """
    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    for name, line in {"table_open": OPENING, "table_close": CLOSING}.items():
        reader.add_render_rule(name, _rule(line))
    tokens = reader.parse(visible(_body(text)))
    for part in (child for token in tokens for child in token.children or []):
        part.content = shortened(part.content, MOST)
    _link(tokens, places, page)
    tokens = [*_folded(tokens)]
    return Markup(reader.renderer.render(tokens, reader.options, {}))


def _folded(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield tokens, with the items of an outermost list behind the first NOTES folded."""
    count = 0  # items of the outermost list so far
    for at, token in enumerate(tokens):
        outermost = token.level == 0 and token.type.startswith("bullet_list")
        if outermost and token.type == "bullet_list_open":
            count = 0
        if token.type == "list_item_open" and token.level == 1:
            count += 1
            if count == NOTES + 1:
                yield _html(FOLD.format(_left(tokens[at:])))
        yield token
        if outermost and token.type == "bullet_list_close" and count > NOTES:
            yield _html("</details>\n")


def _left(tokens: Sequence[Token]) -> str:
    """Return how many notes are left in a list, in words."""
    inside = takewhile(lambda token: token.level > 0, tokens)
    count = sum(token.type == "list_item_open" and token.level == 1 for token in inside)
    return f"{count} more note{'s' * (count > 1)}"


def _html(text: str) -> Token:
    token = Token("html_block", "", 0)
    token.content = text
    return token


def _rule(line: str) -> Callable[..., str]:
    return lambda *_: line


def _body(text: str) -> str:
    """Return the text below the title, the place of printing and the drawing."""
    parts = text.split("\n\n")
    untitled = dropwhile(lambda part: part.startswith("## "), parts)
    return "\n\n".join(dropwhile(lambda part: part.startswith(("(", "![")), untitled))


def _link(tokens: list[Token], places: Places, page: str) -> None:
    row, column, body = -1, -1, False
    for at, token in enumerate(tokens):
        if token.type in ("th_open", "td_open"):
            column += 1
        if token.type == "tbody_open":
            body = True
        if token.type == "tbody_close":
            return
        if token.type == "tr_open":
            row, column = row + body, -1
        if token.type == "th_open":
            token.attrSet("scope", "col")
        if token.type == "td_open" and (place := _at(places, row, column)):
            _wrap(token, tokens[at + 1], place, page)


def _at(places: Places, row: int, column: int) -> str | None:
    inside = row < len(places) and column < len(places[row])
    return places[row][column] if inside else None


def _wrap(cell: Token, inline: Token, place: str, page: str) -> None:
    if not page:
        cell.attrSet("id", place)
    opening = Token("html_inline", "", 0)
    opening.content = f'<a class="number" href="{escape(page)}#{escape(quote(place))}">'
    closing = Token("html_inline", "", 0)
    closing.content = "</a>"
    inline.children = [opening, *(inline.children or []), closing]

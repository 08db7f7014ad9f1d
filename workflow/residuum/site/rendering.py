"""Render templates, with shared filters: escaping, numbers, times, colours of verdicts.

Usage: `render("index.html", folders=...)`. Every inserted value is escaped.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlencode

from jinja2 import DictLoader, Environment, StrictUndefined

from residuum.config.roots import packaged
from residuum.inspect.text import duration
from residuum.site.text import shown

TEMPLATES = {
    "base.html": packaged("site/templates/base.html"),
    "index.html": packaged("site/templates/index.html"),
    "page.html": packaged("site/templates/page.html"),
    "absent.html": packaged("site/templates/absent.html"),
    "costs.html": packaged("site/templates/costs.html"),
    "provenance.html": packaged("site/templates/provenance.html"),
    "reproductions.html": packaged("site/templates/reproductions.html"),
    "about.html": packaged("site/templates/about.html"),
    "against.html": packaged("site/templates/against.html"),
}
TONES = {
    **dict.fromkeys(("holds", "reproduced", "agrees"), "good"),
    **dict.fromkeys(("these models only", "close", "inconclusive", "significant here"), "fair"),
    **dict.fromkeys(("reversed", "differs"), "bad"),
}


def render(template: str, **values: object) -> str:
    """Fill in a template; a name that the template uses and no value gives is an error."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    texts = {name: path.read_text(encoding="utf-8") for name, path in TEMPLATES.items()}
    made = Environment(
        loader=DictLoader(texts),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "shown": lambda text: shown(str(text)),
        "tone": tone,
        "time": duration,
        "urlencode": lambda query: urlencode({k: v for k, v in query.items() if v}),
    }
    return made


def tone(verdict: str) -> str:
    """Return the colour of a verdict: good, fair, bad or none."""
    return TONES.get(verdict, "none")


def embedded(data: Mapping[str, object]) -> str:
    """Return data as gzipped JSON in base64, so that no text in it can act as HTML."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()

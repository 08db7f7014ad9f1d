"""Memoise functions of a registry: a graph asks them thousands of times.

Usage: `@memoised` above a function whose first argument is a registry. Files that appear later
change nothing until the next registry is loaded, so a graph stays the same throughout.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from residuum.config.registry import Registry

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Question = Callable[Concatenate[Registry, Given], Answer]


def memoised(function: Question[Given, Answer]) -> Question[Given, Answer]:
    """Return the function, called once for each registry and hashable arguments."""
    answers: WeakKeyDictionary[Registry, dict[Hashable, Answer]] = WeakKeyDictionary()

    @wraps(function)
    def answer(registry: Registry, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        cache, key = answers.setdefault(registry, {}), (given, *named.items())
        if key not in cache:
            cache[key] = function(registry, *given, **named)
        return cache[key]

    return answer

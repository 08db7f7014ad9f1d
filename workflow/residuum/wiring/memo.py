"""Memoise functions of a registry: a graph asks them thousands of times.

Usage: `@memoised` above a function whose first argument is a registry. What lies on the disk later
is for the next registry, so that no graph changes its mind.
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
    """Return the function, run once for a registry and other arguments, which can be hashed."""
    answers: WeakKeyDictionary[Registry, dict[Hashable, Answer]] = WeakKeyDictionary()

    @wraps(function)
    def answer(registry: Registry, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        own, key = answers.setdefault(registry, {}), (given, *named.items())
        if key not in own:
            own[key] = function(registry, *given, **named)
        return own[key]

    return answer

"""Answers that a graph asks for thousands of times, kept as long as the registry that they are of.

Usage: `@kept` above a function whose first argument is a registry. What lies on the disk later is
for the next registry, so that no graph changes its mind. Must not know what is asked.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from residuum.config.registry import Registry

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
Question = Callable[Concatenate[Registry, Given], Answer]


def kept(function: Question[Given, Answer]) -> Question[Given, Answer]:
    """Return the function, run once for a registry and other arguments, which can be hashed."""
    answers: WeakKeyDictionary[Registry, dict[Hashable, Answer]] = WeakKeyDictionary()

    @wraps(function)
    def answer(registry: Registry, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        own, key = answers.setdefault(registry, {}), (given, *named.items())
        if key not in own:
            own[key] = function(registry, *given, **named)
        return own[key]

    return answer

"""Answers of a registry: each is asked for once, and they do not keep a registry alive."""

import gc
import weakref

from plan_fixture import registry
from residuum.wiring.memo import memoised


def test_a_registry_is_asked_once_for_each_question_and_forgotten():
    calls = []

    @memoised
    def named(of, name, end=""):
        calls.append(name + end)
        return name + end

    one, other = registry(), registry()
    assert [named(one, "a"), named(one, "a"), named(one, "b"), named(one, "a", end="!")] == [
        "a", "a", "b", "a!"
    ]  # fmt: skip
    assert named(other, "a") == "a" and calls == ["a", "b", "a!", "a"]
    alive = weakref.ref(one)
    del one
    gc.collect()
    assert alive() is None
    assert named(other, "a") == "a" and len(calls) == 4, "the other one's answers stay"

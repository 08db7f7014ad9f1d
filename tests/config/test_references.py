"""The walk over an entry: keys, names and references as the annotations say."""

from typing import Annotated, Literal

from pydantic import Field

from residuum.config.schema.base import Name, Named, Ref, Strict, references, walk


class Part(Strict):
    id: Annotated[str, Name("part")]
    system: Annotated[str, Ref("system", kinds=("dense",))] | None = None


class Fixed(Strict):
    kind: Literal["fixed"]
    model: Annotated[str, Ref("model")]


class Tuned(Strict):
    kind: Literal["tuned"]
    role: Annotated[str, Ref("role", use="tuning")]


class Entry(Strict):
    plain: str = "x"
    one: Annotated[str, Ref("system")] = Field("a", description="a field with a default")
    either: Annotated[str, Ref("reranker")] | Fixed
    choice: Annotated[Fixed | Tuned, Field(discriminator="kind")]
    parts: list[Part]
    several: list[Annotated[str, Ref("role")]]
    cells: dict[Annotated[str, Ref("part")], dict[Annotated[str, Ref("column")], str]]
    numbers: tuple[int, int] = (1, 2)


ENTRY = Entry(
    either="r",
    choice={"kind": "tuned", "role": "tune"},
    parts=[{"id": "p", "system": "s"}, {"id": "q"}],
    several=["u", "v"],
    cells={"p": {"c": "0.1"}},
)


def test_every_reference_and_name_has_its_key():
    assert list(walk(ENTRY)) == [
        Named("one", Ref("system"), "a"),
        Named("either", Ref("reranker"), "r"),
        Named("choice.role", Ref("role", use="tuning"), "tune"),
        Named("parts.p.id", Name("part"), "p"),
        Named("parts.p.system", Ref("system", kinds=("dense",)), "s"),
        Named("parts.q.id", Name("part"), "q"),
        Named("several", Ref("role"), "u"),
        Named("several", Ref("role"), "v"),
        Named("cells.p", Ref("part"), "p"),
        Named("cells.p.c", Ref("column"), "c"),
    ]


def test_the_member_of_a_union_that_is_given_is_walked():
    fixed = ENTRY.model_copy(update={"either": Fixed(kind="fixed", model="m")})
    assert Named("either.model", Ref("model"), "m") in list(walk(fixed))
    assert not any(named.mark == Ref("reranker") for named in walk(fixed))


def test_references_to_some_kinds_only():
    assert [name for _, name in references(ENTRY, "system")] == ["a", "s"]
    assert [(r.use, name) for r, name in references(ENTRY, "role")] == [
        ("tuning", "tune"),
        ("", "u"),
        ("", "v"),
    ]

"""Every kind of page that a file of config/papers can be, told apart by its `kind`.

A new kind is a class and a member of the union here. Must not know what a page holds.
"""

from typing import Annotated

from pydantic import Field

from residuum.config.schema.cases import Cases
from residuum.config.schema.figures import Dimensions, Figure, Lines, Venn
from residuum.config.schema.papers import Characteristics, Claims, Table

Page = Annotated[
    Table | Characteristics | Cases | Figure | Venn | Dimensions | Lines | Claims,
    Field(discriminator="kind"),
]

"""The key `downloads` of config/datasets/*.yaml: files that a collection is read from."""

from pathlib import Path

from pydantic import Field

from residuum.config import roots
from residuum.config.schema.base import Positive, SplitId, Strict


class Download(Strict):
    """A file or folder that a collection is read from: exactly one of irds, home and file."""

    irds: str | None = Field(None, description="NAME/KEY in ir_datasets' own list of downloads")
    home: str | None = Field(None, description="path below ir_datasets' home; by hand without url")
    file: str | None = Field(None, description="path below the folder of RESIDUUM_DATA")
    url: str | None = Field(None, description="address of a file that ir_datasets does not list")
    bytes: Positive | None = Field(None, description="size, where ir_datasets does not list it")
    md5: str | None = Field(None, pattern=r"^[0-9a-f]{32}$")
    splits: list[SplitId] = Field([], description="splits that need it; absent: the corpus does")
    docpairs: bool = Field(False, description="only the training triples of these splits need it")
    makes: list[str] = Field([], description="files that ir_datasets makes of it and reads")

    def check(self) -> None:
        if sum(place is not None for place in (self.irds, self.home, self.file)) != 1:
            raise ValueError("give exactly one of irds, home and file")
        if self.irds and (self.url or self.bytes or self.md5):
            raise ValueError("ir_datasets lists url, bytes and md5 itself; leave them out")

    def by_hand(self, data: Path, home: Path) -> Path | None:
        """Return where the user has to put the file, or None if it is downloaded on demand.

        A file of the data folder may be gzipped.
        """
        if self.home:
            return None if self.url else home / self.home
        return roots.as_it_lies(data / self.file) if self.file else None

"""Write a results folder's pages and their inputs as one archive, and check such an archive.

Usage: `residuum bundle write --output mini.tar.gz`, `residuum bundle verify mini.tar.gz`.
Verification makes every page again. An archive's index records the folder's name, the commit and
the packages, and who publishes it. Where these and the results are equal, the bytes are equal. An
archive holds no texts, runs, indexes or models.
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zlib
from collections.abc import Collection, Mapping
from itertools import zip_longest
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from residuum import __version__
from residuum.artefacts import files, manifest
from residuum.cli.command import describe
from residuum.cli.errors import ResiduumError, full
from residuum.config.roots import ROOT
from residuum.inspect import citing, provenance
from residuum.inspect.integrity import Change, Changes
from residuum.inspect.provenance import Graph
from residuum.inspect.publishing import Page, Published
from residuum.inspect.remaking import REMADE, Bench, make
from residuum.inspect.text import Finding, remade
from residuum.wiring.paths import MANIFEST, Paths, Template, folder_of

OLDEST, FORMAT = 3, 4  # from 4 on, a published bundle is an RO-Crate
INDEX, METADATA = "bundle.json", "ro-crate-metadata.json"
RESULTS, ENVIRONMENT = "results", "environment"
UNPACKED = "bundle"  # below a folder of work
MEMBER = re.compile(
    rf"{re.escape(INDEX)}|{re.escape(METADATA)}|({RESULTS}|{ENVIRONMENT})(/(?!\.\.?(/|$))[^/\\]+)+"
)
PATHS = Paths()
PAGES = [*dict.fromkeys(PATHS.pages.values()), PATHS.ledger]
VALUES = [PATHS.metrics, *PATHS.choices, PATHS.learning, PATHS.depth_curve, PATHS.sweep]
VALUES += [PATHS.bounds, PATHS.candidate_bounds]
VALUES += [PATHS.significance, PATHS.groups, Template(folder_of(PATHS.fidelity) + "/*.tsv")]
KEPT = ["**/*manifest.json", *VALUES, *(page.beside(".*") for page in PAGES), PATHS.absent]
WORKFLOW = "Snakefile"
OF_CHECKOUT = ["requirements.lock", "requirements.in", "envs/*.yaml"]
OF_CHECKOUT += [WORKFLOW, "workflow/Snakefile", "rules/*.smk"]
MADE, CARRIED = "made again, same bytes", "carried, checked by hash"
BLOCK, MOST_BYTES = 1 << 20, 10_000_000_000  # bytes read at once; most bytes of an unpacked archive
MOST_MEMBERS = 100_000
LONGEST = 1000  # characters of a member's name
LONG = 90  # characters shown of a differing line


class Index(BaseModel):
    """The fields of a bundle's index that are read again; other fields are ignored."""

    format: int = Field(ge=OLDEST, le=FORMAT)
    residuum: str = ""
    published: Published | None = None
    files: dict[str, str]  # name: sha256


def write(
    results: Path, output: Path, deep: bool = False, published: Published | None = None
) -> str:
    """Write the archive, whole or not at all, and describe what it holds.

    A file that differs from its manifest raises ResiduumError; see `integrity` for `deep`. If
    somebody publishes the archive, it is an RO-Crate, too.
    """
    provenance.refuse_unfinished(results)
    if output.resolve().is_relative_to(results.resolve()):
        raise ResiduumError(f"{output}: among the results that are packed; name another place")
    pages = provenance.finished(results, PAGES)
    if bare := [page for page in pages if not manifest.beside(results / page).is_file()]:
        raise ResiduumError(
            f"{results}: no manifest beside {', '.join(bare)}, so they cannot be made again from a "
            "bundle; run snakemake --cores all again, or delete what is no page of residuum"
        )
    graph = provenance.read(results)
    if changed := _changed(results, graph, deep):
        raise ResiduumError(
            f"{results}: no longer what the pages were made from: {'; '.join(map(str, changed))}. "
            f"Delete these files, then: {remade(results)}. A page that no entry of config/ "
            "has any more is not remade: delete its files instead"
        )
    checkout = OF_CHECKOUT if (ROOT / WORKFLOW).is_file() else []  # not of an installed wheel
    kept, beside = provenance.finished(results, KEPT), provenance.finished(ROOT, checkout)
    members = {f"{RESULTS}/{name}": results / name for name in kept}
    members |= {f"{ENVIRONMENT}/{name}": ROOT / name for name in beside}
    members = dict(sorted(members.items()))
    records = {name: manifest.described(path) for name, path in members.items()}
    hashes = {name: record.sha256 for name, record in records.items()}
    texts = dict[str, bytes]()
    if published:
        texts[METADATA] = _crate(results, graph, records, published).encode()
        hashes[METADATA] = hashlib.sha256(texts[METADATA]).hexdigest()
    index = {
        "format": FORMAT,
        "residuum": __version__,
        "results": results.resolve().name,
        "written": manifest.environment(),
        "published": published and published.model_dump(mode="json"),
        "files": hashes,
    }
    texts[INDEX] = json.dumps(index, indent=1, ensure_ascii=False).encode() + b"\n"
    with files.whole(output) as temporary:
        _pack(temporary, texts, members)
    size = output.stat().st_size / 1e6
    return f"{output}: {len(members)} files, {size:.1f} MB, sha256 {files.sha256(output)}"


def _crate(
    results: Path, graph: Graph, members: Mapping[str, manifest.FileRecord], published: Published
) -> str:
    """Return the metadata of the archive as an RO-Crate."""
    from residuum.inspect import crating  # its library takes 0.4 s

    workflow = f"{ENVIRONMENT}/{WORKFLOW}"
    if workflow not in members:
        raise ResiduumError(
            f"{ROOT}: no {WORKFLOW}, and a published bundle has the workflow. This residuum was "
            "installed without it: use the one that `make install` puts into a checkout's .venv, "
            "or leave --by and --licence out"
        )
    pages = [_in_crate(graph, path, members) for path in provenance.finished(results, PAGES)]
    return crating.metadata(results, graph, members, pages, workflow, published)


def _in_crate(graph: Graph, path: str, members: Collection[str]) -> Page:
    made, stem = graph.manifest(path), f"{RESULTS}/{path.removesuffix('.tsv')}."
    written = [name for name in members if name.startswith(stem)]
    return Page(
        name=Path(path).stem,
        module=made.module,
        command=str(made.environment.get("command") or citing.UNKNOWN),
        inputs=[name for p in graph[path].parents if (name := f"{RESULTS}/{p}") in members],
        files=[name for name in written if not name.endswith(MANIFEST)],
    )


def _changed(results: Path, graph: Graph, deep: bool = False) -> list[Change]:
    """Return the changes against manifests: own files everywhere, inputs only behind pages."""
    roots = [path for path in graph if any(page.parse(path) is not None for page in PAGES)]
    changes = Changes(results, graph, deep)
    behind = changes.among(provenance.ancestors(graph, roots))
    return list(dict.fromkeys([*behind, *changes.among(graph.values(), ())]))


def _pack(path: Path, texts: Mapping[str, bytes], members: Mapping[str, Path]) -> None:
    """Write a gzipped tar whose bytes depend only on names and contents, texts first."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in [*sorted(texts), *sorted(members)]:
            data = texts[name] if name in texts else members[name].read_bytes()
            member = tarfile.TarInfo(name)  # mode 0644, owner 0, mtime 0
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def unpack(archive: Path, folder: Path) -> list[Finding]:
    """Unpack a bundle into an empty folder; return what is wrong with its files.

    An archive that is no bundle, is cut short, or names a path outside itself raises ResiduumError.
    """
    size = 0
    try:
        with gzip.open(archive) as whole:  # to its end, where gzip's checksum is
            while block := whole.read(BLOCK):
                size += len(block)
                if size > MOST_BYTES:
                    raise _refusal(archive, f"unpacks to more than {MOST_BYTES / 1e9:.0f} GB")
        with gzip.open(archive) as whole, tarfile.open(fileobj=whole) as packed:
            # Python 3.11 has it from 3.11.4 on. MEMBER refuses unsafe names in every version.
            packed.extraction_filter = getattr(tarfile, "data_filter", None)
            for number, member in enumerate(packed):
                if number >= MOST_MEMBERS:
                    raise _refusal(archive, f"holds more than {MOST_MEMBERS:,} files")
                if len(member.name) > LONGEST:
                    raise _refusal(archive, f"holds a name of {len(member.name):,} characters")
                odd = not member.isreg() or member.issparse() or member.size > size
                if odd or not MEMBER.fullmatch(member.name):
                    raise _refusal(archive, f"holds '{member.name}', which no bundle does")
                if (folder / member.name).exists():
                    raise _refusal(archive, f"holds '{member.name}' twice")
                packed.extract(member, folder)
            whole.seek(packed.offset)
            while block := whole.read(BLOCK):
                if block.strip(b"\0"):  # a tar ends in zeros
                    raise _refusal(archive, "holds data behind its end")
    except FileNotFoundError:
        raise ResiduumError(f"{archive}: no such file") from None
    except (tarfile.TarError, EOFError, zlib.error, OSError, MemoryError) as error:
        if full(error):
            raise
        reason = str(error).partition("\n")[0]  # further lines repeat it for each compression
        raise _refusal(archive, f"damaged, or not a bundle ({reason})") from None
    if not (folder / INDEX).is_file():
        raise _refusal(archive, f"not a bundle of residuum, it lacks {INDEX}")
    try:
        index = index_of(folder)
    except ValidationError as error:
        why = describe(f"{INDEX} cannot be read by residuum {__version__}", error)
        raise _refusal(archive, why) from None
    local = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    faults = []
    for name in sorted({*local, *index.files} - {INDEX}):
        if name not in local:
            faults.append(Finding(name, "is missing", False))
        elif name not in index.files:
            faults.append(Finding(name, f"is not in {INDEX}", False))
        elif files.sha256(local[name]) != index.files[name]:
            why = "was changed after the bundle was written (its sha256 is another)"
            faults.append(Finding(name, why, False))
    return faults


def _refusal(archive: Path, why: str) -> ResiduumError:
    hint = "Get it again, or write it anew: residuum bundle write"
    return ResiduumError(f"{archive}: {why}. {hint}")


def index_of(root: Path) -> Index:
    """Return the index of an unpacked bundle; a faulty one raises pydantic's ValidationError."""
    return Index.model_validate_json((root / INDEX).read_bytes())


def verify(archive: Path) -> list[Finding]:
    """Check an archive: return findings per faulty file, per page, for the ledger, then a total."""
    with files.temporary("bundle") as folder:
        return checked(archive, folder)


def checked(archive: Path, folder: Path) -> list[Finding]:
    """Check an archive as `verify` does, and leave it unpacked in `bundle` of an empty folder."""
    root = folder / UNPACKED
    findings = unpack(archive, root)
    results = root / RESULTS
    graph, unreadable = provenance.readable(results)
    findings += [Finding(f"{RESULTS}/{name}", why, False) for name, why in unreadable.items()]
    known = {finding.what for finding in findings}
    for change in _changed(results, graph):
        if (name := f"{RESULTS}/{change.path}") not in known:
            findings.append(Finding(name, change.text, False))
    bench = Bench(results, graph, folder / "made")
    pages = {path for path in graph if any(p.parse(path) is not None for p in PAGES)}
    pages |= {*provenance.finished(results, PAGES)}
    if PATHS.ledger not in pages:
        why = "is missing, and every bundle has one: the archive is cut short, or no bundle"
        findings.append(Finding(f"{RESULTS}/{PATHS.ledger}", why, False))
    findings += [_page(bench, p) for p in sorted(pages, key=lambda p: (p == PATHS.ledger, p))]
    made, carried = (sum(f.message.startswith(how) for f in findings) for how in (MADE, CARRIED))
    faults = sum(not finding.good for finding in findings)
    end = f"{faults} fault{'s' * (faults > 1)}" if faults else "no fault"
    total = f"{made} pages made again byte for byte, {carried} carried; {end}"
    return [*findings, Finding("bundle", total, not faults)]


def _page(bench: Bench, path: str) -> Finding:
    """Check the page of a TSV; a page that differs or fails is a Finding, not an exception."""
    page = Path(path).stem
    if bench.graph[path].manifest is None:
        return Finding(page, f"no manifest of {path}: it cannot be made again", False)
    if not any(form.parse(path) is not None for form in REMADE):
        return Finding(page, f"{CARRIED}: a bundle lacks what it is made from", True)
    tests = PATHS.significance.fill(page=page)
    names = [tests, *(Template(path).beside(ending) for ending in (".tsv", ".md", ".tex"))]
    try:
        note = make(bench, path)
        written = [n for n in names if (bench.results / n).exists() or (bench.made / n).exists()]
        differences = [unlike(name, bench.results, bench.made) for name in written]
    except Exception as error:  # a changed file can raise any exception
        kind = "" if isinstance(error, ResiduumError) else f"{type(error).__name__}: "
        text = " ".join(str(error).split()).replace(f"{bench.results}/", "")
        fault = f"cannot be made again: {kind}{text}"
    else:
        fault = next((f"differs: {text}" for text in differences if text), "")
    if not fault:
        return Finding(page, f"{MADE}{note}", True)
    made = (bench.graph[name].manifest for name in (tests, path))
    others = [record.module for record in made if record and not manifest.same_code(record.code)]
    other = f" (made by other code of {', '.join(others)} than is installed)" if others else ""
    return Finding(page, fault + other, False)


def unlike(name: str, results: Path, made: Path, where: str = "in the bundle") -> str | None:
    """Describe the first line that differs between a file and the same file, made again."""
    pages = [(folder / name).read_bytes() for folder in (results, made)]
    if pages[0] == pages[1]:
        return None
    lines = (page.decode(errors="backslashreplace").split("\n") for page in pages)
    pairs = enumerate(zip_longest(*lines, fillvalue=""), start=1)
    number, (a, b) = next((n, pair) for n, pair in pairs if pair[0] != pair[1])
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    start = max(0, same - LONG // 2)
    shown = (f"'{text[start : start + LONG]}'" for text in (a, b))
    return f"{name}, line {number}: {f' {where}, '.join(shown)} made again"

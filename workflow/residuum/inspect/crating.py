"""Describe a published bundle as a Workflow Run RO-Crate, which archives of research read.

Usage: `text = metadata(results, graph, members, pages, workflow, published)`, the crate's
`ro-crate-metadata.json`. It names the publisher, the workflow, its run with scale and collections,
and the command and inputs of each page. It follows RO-Crate 1.1 with Workflow RO-Crate 1.0, Process
Run Crate 0.5 and Workflow Run Crate 0.5. The same results, publisher and day give the same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from rocrate.model import ContextEntity, Entity, RootDataset
from rocrate.rocrate import ROCrate

import residuum
from residuum.artefacts import manifest
from residuum.artefacts.manifest import FileRecord
from residuum.config.roots import ROOT
from residuum.inspect import checkpoints, citing, recorded
from residuum.inspect.provenance import Graph
from residuum.inspect.publishing import Page, Published

VERSION = "1.1"  # of RO-Crate, on which the profiles of runs build
SPECIFICATIONS = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
PARAMETER_FORM = "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"
WORKFLOW_FORM = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
SPDX = "https://spdx.org/licenses/"
OF_SOFTWARE = "Apache-2.0"
FORMATS = {
    ".json": "application/json",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".tex": "application/x-tex",
    ".tsv": "text/tab-separated-values",
    ".yaml": "application/yaml",
}


def metadata(
    results: Path,
    graph: Graph,
    members: Mapping[str, FileRecord],
    pages: Sequence[Page],
    workflow: str,
    published: Published,
) -> str:
    """Return the metadata of a crate, as JSON-LD.

    `members` maps the names of the crate's files to their sizes and hashes. `workflow` is the file
    among them that Snakemake begins with.
    """
    crate = ROCrate(version=VERSION)
    publisher = _entity(crate, "#publisher", "Person", name=published.by)
    scale = checkpoints.scale_of(results, graph)
    _root(crate, scale, published)["author"] = publisher
    held = {
        name: crate.add_file(dest_path=name, properties=_described(name, record))
        for name, record in members.items()
        if name != workflow
    }
    main = crate.add_workflow(
        dest_path=workflow,
        properties=_described(workflow, members[workflow]),
        main=True,
        lang="snakemake",
    )
    main["name"], main["version"] = "residuum", _version([manifest.environment()["git_commit"]])
    main["license"] = _licence(crate, OF_SOFTWARE)
    main["conformsTo"] = _entity(crate, WORKFLOW_FORM, "CreativeWork", name="ComputationalWorkflow")
    run = crate.add_action(
        main,
        "#run",
        object=_compact([_scale(crate, main, scale), *_collections(crate, graph)]),
        result=_compact([held[name] for page in pages for name in page.files]),
        properties={
            "name": f"Run at scale {scale}",
            "description": f"The whole workflow, by residuum {_version(_commits(graph))}",
        },
    )
    jobs = [
        crate.add_action(
            _stage(crate, page.module),
            f"#{page.name}",
            object=_compact([held[name] for name in page.inputs]),
            result=_compact([held[name] for name in page.files]),
            properties={"name": page.name, "description": page.command},
        )
        for page in pages
    ]
    for action in (run, *jobs):
        action["agent"] = publisher
    crate.root_dataset["mentions"] = [run, *jobs]
    return json.dumps(crate.metadata.generate(), indent=1, ensure_ascii=False) + "\n"


def _compact(entities: list[Entity]) -> Entity | list[Entity]:
    """Return the only entity of a list, or the list: the compacted form of JSON-LD."""
    return entities[0] if len(entities) == 1 else entities


def _root(crate: ROCrate, scale: str, published: Published) -> RootDataset:
    root = crate.root_dataset
    root["name"] = f"Results of residuum at scale {scale}"
    root["description"] = (
        "Tables, figures, significance tests and verdicts on numbers that papers on hybrid "
        "retrieval print, with values per query and the provenance of each number. "
        "`residuum bundle verify` makes the pages again and compares their bytes."
    )
    root["datePublished"] = published.day.isoformat()
    root["license"] = _licence(crate, published.licence)
    root["conformsTo"] = [
        _entity(crate, address, "CreativeWork", name=name, version=PurePath(address).name)
        for address, name in SPECIFICATIONS.items()
    ]
    return root


def _entity(crate: ROCrate, at: str, kind: str, **properties: object) -> ContextEntity:
    return crate.add(ContextEntity(crate, at, properties={"@type": kind, **properties}))


def _described(name: str, record: FileRecord) -> dict[str, str]:
    """Return name, form, bytes and SHA-256 of a file."""
    path = PurePath(name)
    form = FORMATS.get(path.suffix, "text/plain")
    facts = {"encodingFormat": form, "contentSize": str(record.bytes), "sha256": record.sha256}
    return {"name": path.name, **facts}


def _licence(crate: ROCrate, licence: str) -> ContextEntity:
    address = licence if "://" in licence else SPDX + licence
    return crate.get(address) or _entity(crate, address, "CreativeWork", name=licence)


def _commits(graph: Graph) -> list[str]:
    """Return the commits of the code that made the results."""
    return sorted(recorded.environments(graph).get("git_commit", []))


def _version(commits: Sequence[object]) -> str:
    named = [str(commit) for commit in commits if commit]
    return f"{residuum.__version__}, commit {', '.join(named) or citing.UNKNOWN}"


def _scale(crate: ROCrate, main: ContextEntity, scale: str) -> ContextEntity:
    """Return the scale's value, as an example of the workflow's parameter."""
    parameter = _entity(
        crate, "#parameter-scale", "FormalParameter", name="scale", additionalType="Text"
    )
    parameter["conformsTo"] = _entity(crate, PARAMETER_FORM, "CreativeWork", name="FormalParameter")
    value = _entity(crate, "#scale", "PropertyValue", name="scale", value=scale)
    value["exampleOfWork"], parameter["workExample"] = parameter, value
    main["input"] = parameter
    return value


def _collections(crate: ROCrate, graph: Graph) -> list[ContextEntity]:
    """Return the collections of a run; their texts are no files of a crate."""
    corpora = list(recorded.corpora(graph))
    known = citing.known(ROOT / citing.CONFIG, [corpus.name for corpus in corpora])
    made = []
    for corpus in corpora:
        about = citing.stated_of(corpus.name, known.get(corpus.name))
        texts = f"{corpus.docs} docs; source: {corpus.source}; licence: {about.licence}"
        made.append(
            _entity(
                crate,
                f"#collection-{corpus.name}",
                "CreativeWork",
                name=about.title,
                version=corpus.edition,
                description=f"{texts}; access: {about.access}",
                citation=about.citation,
            )
        )
    return made


def _stage(crate: ROCrate, module: str) -> ContextEntity:
    version = residuum.__version__
    return crate.get(f"#{module}") or _entity(
        crate, f"#{module}", "SoftwareApplication", name=module, softwareVersion=version
    )

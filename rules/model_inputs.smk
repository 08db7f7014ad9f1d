# What models are made from: input and params functions. Nothing here makes a file.


def negatives_spec(wildcards):
    """Return what negatives mines by: how they are drawn, by which system, what is positive."""
    model = REGISTRY.model(wildcards.model)
    place = REGISTRY.place(model.train_on)
    system = model.negatives.scores
    return driver.canonical(
        {
            "negatives": model.negatives.model_dump(mode="json"),
            "system": (
                REGISTRY.system(system).model_dump(mode="json", exclude=_registry.FOR_READERS)
                if system
                else None
            ),
            "positive_level": REGISTRY.datasets[place.dataset].splits[place.split].positive_level,
        }
    )


def negatives_index(wildcards):
    """Return the index that negatives are mined from; none for a model without pools."""
    model = REGISTRY.model(wildcards.model)
    system = model.negatives.scores
    return [index_of(REGISTRY.place(model.train_on).dataset, system, "")] if system else []


def negatives_runs(wildcards):
    """Return the runs of the other systems that negatives are mined from."""
    split = REGISTRY.place(REGISTRY.models[wildcards.model].train_on)._asdict()
    sources = REGISTRY.mined_from(wildcards.model)
    return [RUN.format(run=REGISTRY.run(s.system, s.seed), **split) for s in sources]


def mined_options(wildcards, input):
    """Return the command-line options that name those runs."""
    named = zip(REGISTRY.mined_from(wildcards.model), input.runs)
    return " ".join(f"--run {source.system}={path}" for source, path in named)


def text_of(wildcards):
    """Return the corpora that a backbone is made from or adapted to."""
    roles = REGISTRY.models[wildcards.backbone].corpora
    return [at(CORPUS, REGISTRY.place(role)) for role in roles]


def corpus_options(wildcards, input):
    """Return the command-line options that name those corpora."""
    return " ".join(f"--corpus {folder(path)}" for path in input.corpora)


def trained_on(template):
    """Return an input function: a file of the split that a model is trained on."""
    return lambda w: at(template, REGISTRY.place(REGISTRY.models[w.model].train_on))


def start_cast(wildcards):
    """Return what plays the backbone of the model that a rule makes."""
    name = dict(wildcards.items()).get("model") or wildcards.backbone
    role = REGISTRY.models[name].backbone
    cast = REGISTRY.backbone(role)
    if cast is None:
        raise WorkflowError(f"{REGISTRY.scale_file}: backbones: nothing plays {role}")
    return cast


def start_inputs(wildcards):
    """A start that the graph makes is an input; of a local one, its files are."""
    return cast_inputs(start_cast(wildcards))


def cast_inputs(cast):
    """Return the files of a model that stand on this machine or are made by the graph."""
    if isinstance(cast, schema.FromModel):
        return [made_by(cast)]
    if isinstance(cast, schema.FromPath):
        return sorted(str(p) for p in Path(cast.path).rglob("*") if p.is_file())
    return []


def start_argument(wildcards):
    """Return the value of --start, and --revision for a hub model."""
    return cast_argument(start_cast(wildcards))


def cast_argument(cast):
    """Return how a command names a model: a folder, or a hub id with its revision."""
    if isinstance(cast, schema.FromModel):
        return folder(made_by(cast))
    if isinstance(cast, schema.FromPath):
        return quote(cast.path)
    return f"{cast.hub} --revision {cast.revision}"


def made_by(cast):
    """Return the manifest of a model that the graph makes once, to stand for a released one."""
    if hasattr(REGISTRY.models[cast.model], "corpora"):
        return BACKBONE.format(backbone=cast.model)
    return CHECKPOINT.format(model=cast.model, seed=cast.seed)

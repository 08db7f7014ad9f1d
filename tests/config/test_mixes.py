"""`train_on` as shares of several roles: what a file may say, and what a scale makes of it."""

import json

import pytest
import yaml

from entry_files import unlined
from residuum.cli.errors import ResiduumError
from residuum.config import entries, loading, specs
from residuum.config.registry import SplitId
from residuum.config.schema.base import references
from residuum.config.schema.pairs import in_batch
from residuum.wiring.availability import all_available, why_unavailable

TRAINING = {"learning_rate": 1.0e-5, "batch_size": 10, "steps": 5}
MODEL = {
    "kind": "dual-encoder", "backbone": "bert-base-uncased", "loss": {"kind": "nll"},
    "train_on": {"made": 0.2, "msmarco-train": 0.8},
    "encoder": {"query_length": 8, "doc_length": 16}, "training": TRAINING,
}  # fmt: skip
ROLES = {"made": "generated-mini/judged", "other": "nfcorpus/train"}


@pytest.fixture
def config(config):
    """Return a configuration with a model that is trained on a mix, and its system."""
    edit(config, "scales/mini.yaml", lambda scale: scale["roles"].update(ROLES))
    (config / "models" / "mix.yaml").write_text(yaml.safe_dump(MODEL))
    system = {"kind": "dense", "model": "mix", "k": 10}
    (config / "systems" / "mix.yaml").write_text(yaml.safe_dump(system))
    return config


def edit(folder, name, change):
    data = yaml.safe_load((folder / name).read_text())
    change(data)
    (folder / name).write_text(yaml.safe_dump(data))


def load(folder, scale="mini"):
    base = entries.parse(folder / "config.yaml", dict[str, object])
    return loading.load(folder, {**base, "scale": scale})


def refused(folder, text, **changes):
    edit(folder, "models/mix.yaml", lambda model: model.update(changes))
    with pytest.raises(ResiduumError) as caught:
        load(folder)
    assert text in unlined(caught.value)
    assert str(caught.value).startswith("1 fault in"), caught.value


def test_a_mix_is_of_roles_the_largest_share_first_whatever_the_file_has_first(config):
    loaded = load(config)
    model = loaded.models["mix"]
    assert list(model.shares.items()) == [("msmarco-train", 0.8), ("made", 0.2)]
    assert model.in_batch == {"msmarco-train": 8, "made": 2}
    assert [name for _, name in references(model, "role")] == ["made", "msmarco-train"]
    splits = {"msmarco-train": ("generated-mini", "train"), "made": ("generated-mini", "judged")}
    assert list(loaded.train_splits("mix").items()) == list(splits.items())
    assert loaded.train_split("mix") == SplitId("generated-mini", "train")
    tuples = {"msmarco-train": "mix@generated-mini.train", "made": "mix@generated-mini.judged"}
    assert loaded.tuples_by_role("mix") == tuples
    assert {*tuples.values()} < {*loaded.tuples_ids()} and "mix" in loaded.model_ids()
    assert not {*tuples.values()} & {*loaded.model_ids()}, "no model is trained on one of them"
    for role, name in tuples.items():
        assert loaded.train_split(name) == splits[role]
        assert loaded.tuples_by_role(name) == {"own": name}
    assert loaded.learned_on("mix") == SplitId("generated-mini", "tune"), "the collection's own"
    assert why_unavailable(loaded, "mix", SplitId("generated-mini", "dev"), all_available) is None
    spec = json.loads(specs.of_entry(model))
    assert spec["train_on"] == MODEL["train_on"]


def test_equal_shares_go_by_name_and_one_of_all_is_the_role_itself(config):
    edit(
        config, "models/mix.yaml", lambda m: m.update(train_on={"msmarco-train": 0.5, "made": 0.5})
    )
    assert list(load(config).models["mix"].shares) == ["made", "msmarco-train"]
    edit(config, "models/mix.yaml", lambda model: model.update(train_on={"msmarco-train": 1}))
    whole = load(config)
    edit(config, "models/mix.yaml", lambda model: model.update(train_on="msmarco-train"))
    plain = load(config)
    assert specs.of_entry(whole.models["mix"]) == specs.of_entry(plain.models["mix"])
    assert whole.tuples_by_role("mix") == {"msmarco-train": "mix"}


@pytest.mark.parametrize(
    ("shares", "size", "counts"),
    [
        ({"a": 0.8, "b": 0.2}, 6144, {"a": 4915, "b": 1229}),  # 0.2 of it are 1228.8
        ({"a": 0.8, "b": 0.2}, 16, {"a": 13, "b": 3}),
        ({"a": 0.4, "b": 0.3, "c": 0.3}, 4, {"a": 2, "b": 1, "c": 1}),
        ({"a": 0.34, "b": 0.33, "c": 0.33}, 5, {"a": 2, "b": 2, "c": 1}),
        ({"a": 0.9, "b": 0.1}, 4, {"a": 4, "b": 0}),
        ({"a": 0.5, "b": 0.5}, 3, {"a": 2, "b": 1}),
    ],
)
def test_counts_are_shares_and_what_is_left_goes_to_the_largest_fractions(shares, size, counts):
    assert in_batch(shares, size) == counts


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"train_on": {"made": 0.3, "msmarco-train": 0.8}},
         "train_on: shares add up to 1.1; change them so that they add up to 1"),
        ({"train_on": {"msmarco-train": 0.8}}, "train_on: shares add up to 0.8; change them"),
        ({"train_on": {"made": 0.2, "own": 0.8}}, "train_on: own stands alone: name the roles"),
        ({"train_on": {"made": 0.2, "msmarco-trian": 0.8}},
         "train_on.msmarco-trian: no role 'msmarco-trian'"),
        ({"training": {**TRAINING, "batch_size": 2}},
         "train_on: a batch of 2 has no pair of made, whose share is 0.2; raise either"),
        ({"training": {**TRAINING, "steps": None, "epochs": 1}},
         "training: an epoch of several roles is not one number; give steps"),
        ({"training": {**TRAINING, "halve_after": 2}}, "training.halve_after: an epoch of several"),
        ({"training": {**TRAINING, "visits": "queries"}}, "training.visits: visits by queries"),
        ({"negatives": {"same_as": "clear"}}, "negatives: the negatives of a mix"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_a_mix_is_refused(config, changes, text):
    refused(config, text, **changes)


@pytest.mark.parametrize("share", [0, -0.2, True, "much"])
def test_a_share_is_a_number_above_0(config, share):
    edit(config, "models/mix.yaml", lambda model: model["train_on"].update(made=share))
    with pytest.raises(
        ResiduumError, match=r"mix.yaml:\d+: (train_on\.made|\(top level\): train_on): "
    ):
        load(config)


def test_only_dual_encoders_are_trained_on_a_mix(config):
    (config / "models" / "deepct-mix.yaml").write_text(
        yaml.safe_dump({"base": "deepct", "train_on": MODEL["train_on"]})
    )
    with pytest.raises(ResiduumError, match=r"deepct-mix.*: train_on: a mix is for dual encoders"):
        load(config)


def test_no_other_model_takes_the_tuples_of_a_mix(config):
    gate = {"kind": "term-weights", "backbone": "bert-base-uncased", "train_on": "msmarco-train",
            "negatives": {"same_as": "mix"}, "training": TRAINING}  # fmt: skip
    (config / "models" / "taker.yaml").write_text(yaml.safe_dump(gate))
    with pytest.raises(
        ResiduumError,
        match=r"taker.yaml:4: negatives.same_as: 'mix' is trained on made, msmarco-tr",
    ):
        load(config)


@pytest.mark.parametrize(
    ("over", "shares"),
    [
        ({"other": 0.4, "msmarco-train": 0.6}, {"msmarco-train": 0.6, "other": 0.4}),
        ({"msmarco-train": 1}, {"msmarco-train": 1.0}),
        ("msmarco-train", {"msmarco-train": 1.0}),
    ],
)
def test_a_budget_and_a_base_replace_all_shares(config, over, shares):
    edit(config, "scales/mini.yaml", lambda s: s["roles"].update(other="generated-mini/topics"))
    (config / "models" / "more.yaml").write_text(yaml.safe_dump({"base": "mix", "train_on": over}))
    edit(config, "models/mix.yaml", lambda model: model.update(budgets=["less"]))
    edit(config, "scales/mini.yaml", lambda s: s["budgets"].update(less={"train_on": over}))
    models = load(config).models
    assert models["mix"].shares == models["more"].shares == shares


def test_a_mix_is_of_splits_of_one_collection_each_once(config):
    refused(
        config,
        f"{config}/models/mix.yaml: train_on: a mix is of one collection, but msmarco-train is "
        "generated-mini/train, other is nfcorpus/train; bind them to splits of one",
        train_on={"msmarco-train": 0.8, "other": 0.2},
    )
    edit(config, "scales/mini.yaml", lambda s: s["roles"].update(other="generated-mini/train"))
    with pytest.raises(ResiduumError, match="train_on: a mix has a split once, but msmarco-train "):
        load(config)


@pytest.mark.parametrize("role", ["made", "msmarco-train"])
def test_a_model_with_an_unbound_role_is_not_trained(config, role):
    edit(config, "models/mix.yaml", lambda m: m.update(train_on={"made": 0.2, "real": 0.8}))
    edit(config, "scales/mini.yaml", lambda s: s["roles"].update(real="generated-mini/train"))
    names = {"made": "made", "msmarco-train": "real"}
    edit(config, "scales/smoke.yaml", lambda s: s["roles"].update(both(names[role])))
    edit(config, "scales/mini.yaml", lambda s: s["roles"].pop(names[role]))
    loaded = load(config)
    dev = SplitId("generated-mini", "dev")
    why = why_unavailable(loaded, "mix", dev, all_available)
    assert why == f"scale mini binds nothing to {names[role]}"
    assert not [name for name in loaded.tuples_ids() if name.startswith("mix@")]


def both(role):
    return {role: "generated-smoke/train"}

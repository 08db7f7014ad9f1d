"""What the start makes of the first triplets, by hand and by another way; whom it warns."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from residuum.config.schema.models import DualEncoder, TermWeights
from residuum.neural import devices
from residuum.neural.duals import DualLearner
from residuum.neural.learners import BatchLoss, Learner, Start
from residuum.neural.losses import triplet_hinge
from residuum.neural.preflight import preflight
from residuum.neural.pretrained import Source
from residuum.neural.termweighter import TermLearner
from residuum.neural.tokens import Texts
from tiny_models import (
    model_spec,
    term_weights_spec,
    toy_docs,
    toy_queries,
    toy_tuples,
    write_problem,
)

GAPS = [1.0, -2.0, 3.0, -4.0]
MARGINS = [1.0, 2.0, -1.0, 1.0]


class Given(Learner):
    """A learner whose every batch has these gaps and margins."""

    def __init__(self, gaps: list[float], steps: int = 10**6) -> None:
        self.gaps, self.model = torch.tensor(gaps)[:, None], torch.nn.Linear(1, 1)
        self.steps = steps

    def batch(self, step: int):
        return [self.gaps]

    def part(self, batch, rows):
        return batch[0][rows]

    def examples(self, batch) -> int:
        return len(batch[0])

    def forward(self, batch):
        return [batch]

    def indifferent(self, batch):
        return [torch.zeros_like(self.gaps)]

    def seen(self, batch, outputs):
        return {"gap": outputs[0], "margin": torch.tensor(MARGINS)[:, None]}

    def losses(self, batch, outputs, rows) -> BatchLoss:
        margin = torch.tensor(MARGINS)[:, None]
        return BatchLoss(triplet_hinge(outputs[0], torch.zeros_like(margin), margin)[:, 0], {})


def test_the_facts_are_those_by_hand(capfd: pytest.CaptureFixture[str]) -> None:
    facts = preflight(Given(GAPS))
    assert facts == {
        "examples": 1000,
        "loss": (0 + 4 + 0 + 5) / 4,
        "loss_of_equal_scores": (1 + 2 + 0 + 1) / 4,
        "gap": -0.5,
        "negatives_above": 0.5,
        "margin": 0.75,
        "gap_where_active": pytest.approx(-5 / 3, abs=1e-6),
        # Of 750 gaps, three of four, whose squared distances from -5/3 are 64/9, 1/9 and 49/9.
        "gap_where_active_at_most": pytest.approx(-5 / 3 + 2 * (38 / 3 / 3 / 749) ** 0.5, abs=1e-6),
        "gap_sd": pytest.approx(math.sqrt(29 / 4 * 1000 / 999), abs=1e-6),
    }
    warning = " ".join(capfd.readouterr().err.split())
    assert "the mean gap s+ - s- is -0.5, and -1.67 where the margin is above 0" in warning
    assert "(two standard errors higher it is -1.52)" in warning
    assert "50% of the negatives are above their positive; the loss is 2.25" in warning
    assert "equal scores 1." in warning and "positive_level" in warning and "top)" in warning


@pytest.mark.parametrize(
    ("steps", "examples"),
    [
        (0, 1000),
        (1, 4),
        (24, 96),
        (30, 100),
        (250, 100),
        (260, 104),
        (261, 104),
        (262, 104),
        (263, 108),
        (2600, 1000),
    ],
)
def test_a_training_of_few_visits_is_looked_at_by_a_tenth_of_them(
    steps: int, examples: int
) -> None:
    """In whole batches, here of four; at least 100, if there are so many, and at most 1,000.

    A tenth of 263 times 4 is 105.2: 27 batches; of 262 times 4 it is 104.8, and 104 are enough.
    """
    assert preflight(Given(GAPS, steps))["examples"] == examples


def test_a_tenth_of_batches_of_several_sizes_is_of_their_mean_size() -> None:
    """Batches of 40 and 4 in turns, 50 steps: a tenth of them is five times the mean batch.

    That is 110 when four batches have shown 88 examples, and 128 when five have shown 128.
    """

    class Uneven(Given):
        def batch(self, step: int):
            return [self.gaps[:4].repeat(1 if step % 2 else 10, 1)]

        def indifferent(self, batch):
            return [torch.zeros_like(batch[0])]

        def seen(self, batch, outputs):
            return {}

        def losses(self, batch, outputs, rows) -> BatchLoss:
            return BatchLoss(outputs[0][:, 0], {})

    assert preflight(Uneven(GAPS, 50))["examples"] == 128


def test_a_start_that_ranks_active_triplets_right_is_not_warned_of(
    capfd: pytest.CaptureFixture[str],
) -> None:
    facts = preflight(Given([3.0, -2.0, -9.0, 4.0]))  # the mean of all gaps is below 0
    assert facts["gap"] == -1.0 and facts["gap_where_active"] > 0
    assert not capfd.readouterr().err


def test_a_start_that_tells_nothing_is_not_warned_of(capfd: pytest.CaptureFixture[str]) -> None:
    """Of 75 active gaps of 100 the mean is -0.01, and its standard error 2.04 / sqrt(75), 0.24."""
    facts = preflight(Given([2.47, 0.0, 0.0, -2.5], steps=100))
    assert facts["gap_where_active"] == pytest.approx(-0.01)
    assert facts["gap_where_active_at_most"] > 0
    assert not capfd.readouterr().err


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_problem(tmp_path_factory.mktemp("toy"))


def begun(toy: Path) -> Start:
    return Start(Source(str(toy / "start"), new_head=True), devices.choose("cpu", "fp32", 1), 1)


def test_a_dual_encoder_sees_the_triplets_that_it_will_train_on(toy: Path) -> None:
    spec = DualEncoder.model_validate_json(model_spec(dropout=0.5, steps=2000))
    texts = Texts(toy / "queries.tsv", toy / "corpus", "test")
    learner = DualLearner(spec, begun(toy), toy / "tuples.jsonl.gz", texts)
    facts = preflight(learner)
    vectors = {}
    for kind, given in (("query", toy_queries()), ("doc", toy_docs())):
        rows = learner.encoder.encode([text for _, text in given], kind, 4)
        vectors |= dict(zip([key for key, _ in given], rows, strict=True))
    gaps, margins = [], []
    for step in range(125):
        batch = learner.batch(step)
        for query, docs, scores in zip(
            batch.query_ids, batch.docs_by_query, batch.lexical, strict=True
        ):
            positive, negative = (vectors[query] @ vectors[doc] for doc in docs)
            gaps.append(positive - negative)
            margins.append(1.0 - 0.1 * (scores[0] - scores[1]))
    gap, margin = np.array(gaps), np.array(margins)
    assert facts["examples"] == len(gap) == 1000
    assert facts["gap"] == pytest.approx(gap.mean(), abs=1e-5)
    assert facts["gap_sd"] == pytest.approx(gap.std(ddof=1), abs=1e-5)
    assert facts["margin"] == pytest.approx(margin.mean(), abs=1e-5)
    assert (
        facts["negatives_above"] == (gap < 0).mean() == pytest.approx(1 - facts["positives_best"])
    )
    assert facts["loss"] == pytest.approx(np.maximum(margin - gap, 0).mean(), abs=1e-5)
    assert facts["loss_of_equal_scores"] == pytest.approx(margin.mean(), abs=1e-5)


def test_term_weights_are_compared_with_the_mean_target(toy: Path) -> None:
    spec = TermWeights.model_validate_json(term_weights_spec(steps=1))
    texts = Texts(toy / "queries.tsv", toy / "corpus", "test")
    learner = TermLearner(spec, begun(toy), toy / "tuples.jsonl.gz", texts)
    facts = preflight(learner)
    targets = np.concatenate(learner.all.targets)
    assert learner.mean == pytest.approx(targets.mean())
    assert facts["loss_of_equal_scores"] == pytest.approx(targets.var(), rel=0.05)
    assert facts["loss"] > 0 and "gap" not in facts
    assert len(toy_tuples()) == len(learner.all.docs)


class Far(Given):
    """A learner whose start has `times` the loss of equal scores."""

    def __init__(self, times: float) -> None:
        super().__init__(GAPS)
        self.times = times

    def losses(self, batch, outputs, rows) -> BatchLoss:
        equal = not outputs[0].any()
        return BatchLoss(torch.full((len(GAPS),), 2.0 if equal else 2.0 * self.times), {})


@pytest.mark.parametrize(("times", "warned"), [(99.0, False), (100.0, True), (132.5, True)])
def test_a_start_a_hundred_times_worse_than_equal_scores_is_warned_of(
    capfd: pytest.CaptureFixture[str], times: float, warned: bool
) -> None:
    facts = preflight(Far(times))
    assert (facts["loss"], facts["loss_of_equal_scores"]) == (2 * times, 2)
    text = f"warning: the start's loss is {2 * times:.4g}, {times:.0f} times that of equal scores"
    assert (text in capfd.readouterr().err) == warned
    assert facts.get("times_equal_scores") == (times if warned else None)

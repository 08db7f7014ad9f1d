"""What is noted of comparisons, and when nothing is."""

from comparison_fixture import comparison
from residuum.pages import notes
from residuum.pages.table import notes as table_notes
from residuum.tuning.learned import Learned
from tables_fixture import job


def noted(*rows):
    made = [comparison(**row) for row in rows]
    return list(notes.remarks([(f"{row.a}-{row.b}", row) for row in made], 0.05))


def test_nothing_to_note():
    assert noted({}) == []


def test_p_near_alpha_is_named_with_its_error():
    near = {"a": "clear", "p": 0.0485, "p_adjusted": 0.0485, "p_error": 0.002}
    (line,) = noted({}, near, {"p": 0.0455, "p_adjusted": 0.0455, "p_error": 0.002})
    assert "clear-y (p 0.0485 ± 0.0020)." in line
    assert "x-y" not in line


def test_the_error_of_an_adjusted_p_is_scaled_with_it():
    # Raw p is far from 0.05, but three times p is not: 0.054 within 2 x 3 x 0.001.
    (line,) = noted({"p": 0.018, "p_adjusted": 0.054, "p_error": 0.001})
    assert "x-y (p 0.0540 ± 0.0030)" in line
    assert noted({"p": 0.05, "p_adjusted": 0.15, "p_error": 0.002}) == []


def test_an_exact_p_has_no_error():
    (line,) = noted(
        {"p": 0.05, "p_adjusted": 0.05, "p_error": 0.0, "method": "exact, 2^9 flips"}, {}
    )
    assert line.startswith("Exact p in 1 of 2 comparisons")


def test_seeds():
    held = {
        "significant": True,
        "difference": 0.1,
        "seeds_agreeing": "3/3",
        "p_over_seeds": 0.01,
        "holds_over_seeds": True,
    }
    partly = {
        "significant": True,
        "difference": 0.1,
        "seeds_agreeing": "2/3",
        "p_over_seeds": 0.07,
        "holds_over_seeds": False,
    }
    not_significant = {"seeds_agreeing": "1/3", "p_over_seeds": 0.5, "holds_over_seeds": False}
    alone = {"significant": True, "difference": 0.1}
    line, models = noted(held, partly, partly, not_significant, alone)
    assert "1 of 3 significant comparisons between rows with seeds hold" in line
    assert "2 of 3 for 2, 3 of 3 for 1" in line
    assert models == "Significant for these models only, not over seeds: x-y; x-y."


def test_a_test_that_favours_the_lower_mean():
    (line,) = noted({"significant": True, "direction": -1, "difference": 0.1}, {})
    assert "favours the system with the lower mean" in line and line.endswith(": x-y.")


def test_a_seed_near_alpha_may_turn_the_count():
    held = {"significant": True, "seeds_agreeing": "2/3", "holds_over_seeds": True}
    near = {**held, "a": "clear", "seeds_near_alpha": 1}
    _, line, *_ = noted(
        {**held, "seeds_near_alpha": 0}, near, {**near, "a": "z", "significant": False}
    )
    assert line.startswith("The p of a seed lies within two Monte-Carlo standard errors")
    assert line.endswith("may change: clear-y.")


def test_an_infinite_t_is_said():
    constant = {"test": "t-test", "method": "paired t, no variance", "p": 0.0, "p_adjusted": 0.0}
    (line,) = noted(constant, {"method": "paired t"})
    assert "t is infinite and p is 0" in line and "x-y. A permutation test" in line


def test_what_plays_a_system_is_said_under_the_table():
    runs = {"base": ["base"], "ours": ["theirs.seed1", "theirs.seed2"], "ablation": ["theirs-b"]}
    lines = list(table_notes.caption(job().model_copy(update={"runs": runs}), [], [], [], {}))
    assert "Replaced at this scale by other systems: ours by theirs, ablation by theirs-b." in lines
    lines = list(table_notes.caption(job(), [], [], [], {}))
    assert not [line for line in lines if line.startswith("Replaced")]


def test_losses_that_no_mark_can_show_are_named():
    """The ablation has no number; its arrow is about ours alone. Ours is shown by its number."""
    lost = {"significant": True, "direction": 1}
    tests = [
        comparison(a="base", b="ablation", **lost),
        comparison(a="ours", b="ablation", **lost),
        comparison(a="base", b="ours", **lost),
        comparison(a="ablation", b="later", **lost | {"direction": -1}),
        comparison(a="far", b="ablation", significant=False),
    ]
    (line,) = _unmarked(tests, baselines=["base", "ours"])
    both = "base (dev RR@10), later (dev RR@10)"
    assert line == f"Significantly below, without a mark: ablation below {both}."
    assert _unmarked(tests[1:3], baselines=["base", "ours"]) == []
    assert _unmarked(tests, baselines=[]) == [], "all pairs: the paper prints what it found"


def _unmarked(tests, **changes):
    lines = table_notes.caption(job(**changes), [], tests, [], {})
    return [line for line in lines if line.startswith("Significantly below, without")]


def learned(**changes):
    made = {"split_ref": "data/tune", "learned": True, "reason": "better", "measure": "RR@10",
            "examples": 4, "means": {"trained": 0.2, "start": 0.1}, "better": 2,
            "worse": 1}  # fmt: skip
    (line,) = notes.of_learning({"dpr-e/seed1": Learned.model_validate(made | changes)})
    return line


def test_a_note_on_learning_says_how_far_orthogonality_got():
    line = learned(course={"ortho_query": (0.0165, 0.0152), "ortho_doc": (0.016, 0.012)})
    assert "of the steps: query 0.0165 to 0.0152, doc 0.016 to 0.012; two random" in line
    assert "cos²" not in learned()


def test_a_note_on_learning_says_that_a_start_is_far_from_equal_scores():
    before = {"examples": 100, "loss": 551.0, "loss_of_equal_scores": 4.16}
    far = {**before, "times_equal_scores": 132.45}
    assert "The loss is 132 times that of equal scores." in learned(preflight=far)
    assert "times that of equal" not in learned(preflight=before)


def test_a_note_says_which_numbers_alone_do_not_compare():
    made = job().model_copy(update={"but": {"ours": "another reranker", "far": "another reranker"}})
    assert [*notes.of_scale(made)] == [
        "Scale toy: a toy.", "Not comparable: ours, far: another reranker.",
    ]  # fmt: skip
    assert [*notes.of_scale(job())] == ["Scale toy: a toy."]

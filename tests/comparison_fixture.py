"""A tested comparison of which a test sets what it looks at."""

from residuum.pages.bearing import Weighed


def comparison(**changes: object) -> Weighed:
    """Return a comparison without an effect: p 0.2 by flips, one seed each."""
    zeros = dict.fromkeys(("mean_a", "mean_b", "difference", "wins", "losses"), 0)
    unknown = (
        "ci_low",
        "ci_high",
        "boot_low",
        "boot_high",
        "seed_low",
        "seed_high",
        "effect",
        "min_detectable",
    )
    plain = {"column": "rr", "measure": "RR@10", "a": "x", "b": "y", "n": 40, "seeds": 1,
             "ties": 40, "p": 0.2, "p_error": 0.004, "p_adjusted": 0.2, "significant": False,
             "direction": 1, "p_over_seeds": None, "holds_over_seeds": None,
             "p_mixed_effects": None, "seeds_agreeing": None, "seeds_near_alpha": None,
             "method": "9999 sign flips", "test": "permutation",
             "correction": "none", "family": "toy"}  # fmt: skip
    return Weighed(**{**zeros, **dict.fromkeys(unknown), **plain, **changes})

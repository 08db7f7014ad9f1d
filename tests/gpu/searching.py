"""Step 7: exact search on the card, as jobs search, beside FAISS on the CPU; both find the same."""

from benchmarks import exact_search
from gpu.records import Records
from gpu.setting import Setting


def measure(setting: Setting, records: Records) -> None:
    """Record products of a query and a doc a second, with the best k of each query, and parts."""
    sizes = setting.pick(exact_search.SIZES, exact_search.TINY)
    setting.chosen("fp32")
    found = exact_search.measured(setting.device, setting.threads, **sizes)
    docs, queries, k = (sizes[name] for name in ("docs", "queries", "k"))
    theirs = f"FAISS, {setting.threads} threads, {found['faiss_docs']:,} docs"
    facts = {"flop": 2e9 * sizes["dimensions"], "precision": "fp32", "beside": theirs}
    products = queries * docs / 1e9
    name = f"torch, {docs:,} docs, {queries:,} queries, k {k:,}"
    records.add(theirs, products / found["faiss_seconds_scaled"], "G products/s")
    for part, seconds in (("whole, scores of float64", "seconds"), ("top k", "seconds_top_k")):
        records.add(f"{name}: {part}", products / found[seconds], "G products/s", **facts)
    for part in ("seconds", "seconds_top_k", "seconds_rescoring", "seconds_to_load"):
        records.add(f"{name}: {part.replace('_', ' ')}", found[part], "s")

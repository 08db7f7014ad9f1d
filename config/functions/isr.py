"""Inverse square rank fusion (Mourao, Martins and Magalhaes 2014), as an example of a function."""


def fuse(lists):
    """Return each doc's sum of 1 / rank ** 2, times the number of lists with the doc."""
    ranks = {}
    for scores in lists.values():
        for rank, doc in enumerate(scores, start=1):
            ranks.setdefault(doc, []).append(rank)
    return {doc: len(its) * sum(1 / rank**2 for rank in its) for doc, its in ranks.items()}

"""A figure: a measure over depths, efforts, snapshots, cutoffs, queries or groups of queries."""

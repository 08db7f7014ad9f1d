"""A figure: a measure over depths, efforts, groups of queries or snapshots."""

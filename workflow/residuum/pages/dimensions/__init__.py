"""A page on how many dimensions of a projection keep a ranking."""

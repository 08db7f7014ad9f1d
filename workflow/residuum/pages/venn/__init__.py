"""Circles: which queries the two parts of a hybrid answer."""

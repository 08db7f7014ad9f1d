"""Vectors with a dimension for each term: products of them, projection to few dimensions."""

"""Inner products of vectors, dense or sparse with a dimension for each term; projection to few."""

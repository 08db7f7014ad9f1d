"""Inner products of vectors, dense or with a dimension for each term; projection to few."""

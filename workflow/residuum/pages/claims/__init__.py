"""Claims: what a paper says of its results in words."""

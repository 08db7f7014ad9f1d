"""A case study: example docs that a rule finds."""

"""A table: systems by measures, with tests between the systems."""

"""Lines: the numbers of a table, drawn."""

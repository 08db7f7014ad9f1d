"""A table that counts query sets and collections."""

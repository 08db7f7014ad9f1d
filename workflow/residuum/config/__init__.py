"""Configuration: schemas of every entry, loading and checking, the registry, names and ids.

Must not know stages, rules or files below results/.
"""

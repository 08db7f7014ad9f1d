"""Configuration: schemas, loading and checking, the registry; no stages, rules or results."""

"""The form of every YAML file under config/: keys, types, limits, and what each key means.

`residuum.config.loading` loads with it; `python -m residuum.config.loading schema` writes it as
JSON schema for editors. Must not know paths, stages or other entries.
"""

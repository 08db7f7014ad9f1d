"""The form of every YAML file under config/: keys, types, limits, and what each key means."""

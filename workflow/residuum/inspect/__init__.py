"""Inspection of results and config for the command `residuum`; no stage imports this package."""

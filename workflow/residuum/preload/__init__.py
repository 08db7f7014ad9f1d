"""Cheap starts: jobs of this machine are forked from a process that has its packages loaded.

`server.start()` starts the parents, `client.py` takes the place of `python` in a job's shell, and
`benchmarks.adopt()` lets Snakemake's benchmark files see the forked jobs. A job that no parent can
serve starts by itself. Must not know stages, rules or residuum's own modules: only third-party
packages are loaded ahead, so that an edited module is never stale.
"""

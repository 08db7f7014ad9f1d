"""Cheap starts: jobs of this machine are forked from a process that has its packages loaded.

`server.start()`, then `benchmarks.adopt()`; in a job's shell `client.py` takes the place of
`python`. Only third-party packages are loaded ahead, so that an edited module is never stale.
"""

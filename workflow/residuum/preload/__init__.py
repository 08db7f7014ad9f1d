"""Cheap starts: jobs of this machine are forked from a process that has its packages loaded.

`server.start()`, then `benchmarks.adopt()`; in a job's shell `client.py` takes the place of
`python`. Modules of residuum are loaded ahead too, and anew once a file of theirs changes.
"""

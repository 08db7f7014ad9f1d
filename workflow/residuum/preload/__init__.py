"""Start jobs cheaply: fork them from a process on this machine that has loaded their packages.

Call `server.start()`, then `benchmarks.adopt()`. In a job's shell, `client.py` replaces `python`.
Modules of residuum are preloaded too, and reloaded when one of their files changes.
"""

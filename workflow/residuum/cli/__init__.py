"""The command line of stages: errors and their words, options, progress.

Must not know stages, configuration or files.
"""

"""The verbs of the command `residuum`: a module or two for each, none of them a stage of the graph.

A new verb is a module here and a function of a few lines in `residuum.__main__`. They read finished
results or files from anywhere, and call what the stages call; no stage may import them.
"""

"""What the command `residuum` answers, for any finished results, datasets or runs.

Modules call what the stages call; no stage may import them. A verb is a function of `__main__`.
"""

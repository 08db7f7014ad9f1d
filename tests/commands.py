"""Commands of stages, called within the process of a test."""

import importlib


def call(stage: str, *words: object) -> object:
    """Run the command line of a stage, without what `command.main` makes of an error."""
    application = importlib.import_module(f"residuum.{stage}").app
    return application([str(word) for word in words], standalone_mode=False)

"""The code behind a result. Usage: `closure.sha256("residuum.fusion", "fuse", kinds)`."""

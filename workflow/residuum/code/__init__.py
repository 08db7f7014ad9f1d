"""Which code decides a result. Usage: `closure.sha256("residuum.fusion", "fuse", kinds)`."""

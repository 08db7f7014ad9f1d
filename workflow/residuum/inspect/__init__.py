"""What the command `residuum` answers, by calling what the stages call; no stage imports it."""

"""What is chosen on queries: measures of rankings, settings tried on them, folds, the record."""

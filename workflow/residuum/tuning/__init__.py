"""Tuning: measures of rankings, settings tried on queries, folds, the record of the choice."""

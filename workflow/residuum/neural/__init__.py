"""Encoders, losses and training batches: torch lives here and nowhere else."""

"""Encoders, losses and training batches: only this package imports torch."""

"""Tiny replicas of the papers' collections, in the official file formats, of generated text."""

"""Artefacts: a writer and a checking reader per type of file, hashes, manifests. Knows no stage."""

"""One writer and one checking reader per type of file, hashes, manifests; no stage, no rule."""

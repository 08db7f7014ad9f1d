"""Only this package uses Java: starting it, and Lucene with Anserini's settings."""

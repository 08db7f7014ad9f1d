"""Java lives here and nowhere else: starting it, and Lucene as Anserini sets it up."""

"""The report: finished results as a static site, readable from disk without server or network."""

"""The report: finished results as a static site that opens from disk, without server or network."""

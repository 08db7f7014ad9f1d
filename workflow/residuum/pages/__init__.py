"""The pages of papers: a folder for each kind of page, and the code that the kinds share."""

"""Sources of collections: generated, ir_datasets, or files of your own."""

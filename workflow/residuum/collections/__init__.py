"""Where a collection comes from: generated, ir_datasets, or files of your own."""

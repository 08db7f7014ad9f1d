"""The command line of stages: errors, options, progress. Knows no stage, config or file format."""

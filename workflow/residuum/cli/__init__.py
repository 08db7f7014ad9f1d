"""The command line of stages: errors, options, progress; no stages, configuration or files."""

"""What `import residuum as rs` gives: functions on runs of any origin, and on finished results."""

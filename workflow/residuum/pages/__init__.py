"""What the stages that make pages share: rows of TSVs, scores, layouts, notes."""

"""What the stages that make pages share: rows of TSVs, layouts, notes, drawings, scores."""

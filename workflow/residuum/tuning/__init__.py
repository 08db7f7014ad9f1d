"""What is chosen on queries: settings tried and recorded, folds, lists fused and reranked."""

"""The memory worker's side: collections, engines, embeddings, ranking."""

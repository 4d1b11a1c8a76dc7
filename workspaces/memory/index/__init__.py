"""The worker side of memory: collections, engines, embeddings, ranking."""

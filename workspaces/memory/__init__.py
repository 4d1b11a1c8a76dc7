"""Search over an agent's notes: chunking, embeddings, the Qdrant collection, ranking."""

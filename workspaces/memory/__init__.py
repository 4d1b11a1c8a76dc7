"""This room finds passages in an agent's notes: chunking, embeddings, the Qdrant collection, ranking."""

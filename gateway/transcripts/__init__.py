"""Journal of each conversation: codec, writer and readers."""

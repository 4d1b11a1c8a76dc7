"""The journal of each conversation: codec, writer, readers."""

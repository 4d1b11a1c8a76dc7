"""Keeps a conversation within the model's context window."""

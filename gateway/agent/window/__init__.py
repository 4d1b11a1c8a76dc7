"""This room keeps a conversation within the model's window."""

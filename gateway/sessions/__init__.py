"""How a conversation rests, is summarised and ends."""

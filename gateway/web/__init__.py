"""This room is the HTTP door: programs and the owner's page come in by it, and platforms that bring their updates."""

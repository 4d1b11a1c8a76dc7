"""This file says how long a test waits for what must happen."""

PATIENCE_S = 120.0
"""A busy machine may need most of it. It costs nothing: whoever waits goes on as soon as it has happened."""

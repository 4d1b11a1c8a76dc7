"""Life cycle of a session: pauses, summaries and its end."""

"""Timeout of waits in tests."""

PATIENCE_S = 120.0
"""A busy machine may need most of it. It costs nothing: a wait ends as soon as its condition holds."""

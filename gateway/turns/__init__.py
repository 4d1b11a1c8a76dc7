"""Turns: each message becomes one answer."""

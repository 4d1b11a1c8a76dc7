"""Homes that were lived in by each version, as text, so that later versions can be tried on them."""

"""The store of a single gateway."""

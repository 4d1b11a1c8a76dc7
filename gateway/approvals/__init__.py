"""Changes that wait for the owner."""

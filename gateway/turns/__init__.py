"""One message becomes one answer."""

"""From the outbox to a platform."""

"""Adapters for chat platforms; this package knows nothing of agents or workspaces."""

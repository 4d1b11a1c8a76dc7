"""The wing that speaks to chat platforms; it knows nothing of agents or workspaces."""

"""Agent workspaces: their files, access rules, and the memory index over them."""

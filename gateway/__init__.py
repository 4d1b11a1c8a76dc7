"""The wing between chat platforms and workspaces: it admits, routes, answers and delivers."""

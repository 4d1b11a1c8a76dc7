"""Tools that a model may call; each closes over the turn's access."""

"""Tools of other programs, by the Model Context Protocol; their failures never fail a turn."""

"""The tools of other programs, by the Model Context Protocol; no failure of theirs is one of a turn."""

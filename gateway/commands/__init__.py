"""This room answers messages that begin with a slash: commands, which no language model sees."""

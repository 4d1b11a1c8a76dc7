"""The check-up of notes: what is wrong with an entry, and how good it is, by rule alone."""

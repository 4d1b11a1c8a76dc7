"""Pure functions on text: chunks, tokens, dates."""

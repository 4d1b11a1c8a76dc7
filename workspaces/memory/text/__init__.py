"""Pure functions over text: chunks, tokens, dates."""

"""Commands: messages that begin with a slash, answered without a language model."""

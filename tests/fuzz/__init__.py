"""Fuzzing of what reads others' bytes: random inputs made of a corpus, invariants, limits of time and of memory."""

"""Conversion of an answer's Markdown into platform messages: pure, and linear in the length of the answer."""

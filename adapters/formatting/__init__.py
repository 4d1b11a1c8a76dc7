"""Steps from an answer's Markdown to the parts that a platform shows: pure, and linear in the length of the answer."""

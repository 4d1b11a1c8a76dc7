"""The agent: prompt, loop, tools and models. It works on the entries that it is given."""

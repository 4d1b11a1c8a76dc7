"""This room is the agent itself: prompt, loop, tools, models; it works on entries that it is given."""

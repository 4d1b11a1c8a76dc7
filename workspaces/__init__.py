"""The wing that is the agents' home: their files, what may be read of them, and the memory over them."""

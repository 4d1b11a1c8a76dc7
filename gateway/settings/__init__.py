"""The base of the configuration's tables: kinds of values, secrets, the time zone, and the servers of state."""

"""The store in Redis, shared by several gateways."""

"""Several gateways on one Redis: membership and ownership of files."""

"""The HTTP server: for programs, the owner's page, and platforms that deliver updates."""

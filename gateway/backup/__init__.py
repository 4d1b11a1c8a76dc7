"""Backups: a gateway's whole state in one file, written while it runs, and its restore to a home."""

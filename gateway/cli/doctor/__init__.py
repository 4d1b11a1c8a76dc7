"""The doctor command and its checks."""

"""Approvals: changes that wait for the owner."""

"""Stores of one contract suite as fixtures for the others."""

from tests.contracts.test_store import kept, place, store

__all__ = ["kept", "place", "store"]

"""This file lends the stores of one contract suite to the others."""

from tests.contracts.test_store import kept, place, store

__all__ = ["kept", "place", "store"]

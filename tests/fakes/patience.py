"""The time that a test waits for an expected event, the same for our tests and those of packages."""

from strandline.testing.patience import PATIENCE_S

__all__ = ["PATIENCE_S"]

"""Imports of libraries without the parts that nobody here uses."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(module: str) -> Iterator[None]:
    """Keep *module* from being imported while the block runs; one that is there already stays."""
    is_there = module in sys.modules
    sys.modules.setdefault(module, None)  # type: ignore[arg-type]  # as the import system has it
    try:
        yield
    finally:
        if not is_there:
            del sys.modules[module]

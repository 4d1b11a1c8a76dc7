"""Counts calls of a function of the product."""

from importlib import import_module
from typing import Any

import pytest


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[tuple[Any, ...]]:
    """Return a list that gets the arguments of each call of the function *name*, which goes on to do its work."""
    calls: list[tuple[Any, ...]] = []
    module, _, function = name.rpartition(".")
    original = getattr(import_module(module), function)

    def called(*arguments: Any) -> Any:
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(name, called)
    return calls

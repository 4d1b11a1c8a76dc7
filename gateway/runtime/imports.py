"""Imports of libraries without the parts that nobody here uses."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


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


@contextmanager
def deferred(module: str, *names: str) -> Iterator[None]:
    """Let the package of *module* be imported without it: it is imported once one of its *names* is used there."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = stub = ModuleType(module)
    vars(stub).update(dict.fromkeys(names))
    try:
        yield
    finally:
        del sys.modules[module]
    package = sys.modules[module.rpartition(".")[0]]

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}", name=name, obj=package)
        loaded = import_module(module)
        vars(package).update({each: getattr(loaded, each) for each in names})  # `main` is the module until then
        return getattr(loaded, name)

    for name in names:
        vars(package).pop(name, None)
    vars(package)["__getattr__"] = load

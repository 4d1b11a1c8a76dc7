"""Methods of dataclasses that are compiled at their first call instead of where the class is defined.

Up to Python 3.12 a frozen class compiles six methods one by one, 0.4 ms of them; most are never called. Later versions
compile them together, and are left alone.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

LATE = frozenset({"adapters", "gateway", "workspaces", "annotated_types", "pydantic", "structlog", "typer"})
"""Packages that nobody asks for the signature of such a method."""


def compile_late() -> None:
    """Let dataclasses of the packages `LATE`, from now on, compile each method at its first call."""
    compiled: Callable[..., Any] | None = getattr(dataclasses, "_create_fn", None)
    if compiled is None or getattr(compiled, "is_late", False):
        return

    def create(name: str, args: Any, body: Any, *, globals: Any = None, **names: Any) -> Any:  # noqa: A002  # its name
        if globals is None or globals.get("__name__", "").partition(".")[0] not in LATE:
            return compiled(name, args, body, globals=globals, **names)
        method: Any = None

        def late(self: Any, /, *given: Any, **named: Any) -> Any:
            nonlocal method
            if method is None:
                method = compiled(name, args, body, globals=globals, **names)
                method.__qualname__ = late.__qualname__
            for owner in type(self).__mro__:
                if vars(owner).get(name) is late:
                    setattr(owner, name, method)
            return method(self, *given, **named)

        late.__name__ = name
        return late

    create.is_late = True  # type: ignore[attr-defined]
    dataclasses._create_fn = create  # type: ignore[attr-defined]

"""Interface of the runner of blocking work."""

from collections.abc import Callable
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class RunBlocking(Protocol):
    """Runs blocking work on the one thread of a workspace and returns its result."""

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

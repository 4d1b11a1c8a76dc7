"""The operator API: how a command puts its requests to a gateway, local or remote."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from gateway.control.order import Answer, Answers, LongOrder, Order, Progress, ignore_progress

if TYPE_CHECKING:  # the types of all orders take longer to load than most commands to run
    from gateway.control.stream_wire import ChatOrder, ChatSign

OnReply = Callable[[str, bool], Awaitable[None]]
"""Takes each delivered message, as Markdown, and whether it answers this request.

An earlier answer that nobody was there to read comes first.
"""
OnSign = Callable[["ChatSign"], None]
"""Called, synchronously in the event loop, with each sign of an answer on its way."""


def ignore_sign(_: "ChatSign") -> None:
    """Ignore the signs of an answer, for callers that wait for it alone."""


class OperatorApi(Protocol):
    """The interface that commands use. Everything raises one of `expected_errors`."""

    async def ask(self, order: Order[Answer]) -> Answer:
        """Execute *order*."""

    async def chat(self, order: "ChatOrder", on_reply: OnReply, on_sign: OnSign = ignore_sign) -> str:
        """Send a message to an agent; return that agent when its answer is complete, or when the message must wait.

        The sign `postponed` says that it must wait.
        """

    async def follow(self, order: LongOrder, progress: Progress = ignore_progress) -> str:
        """Execute *order*, reporting its *progress*; return a description of the outcome."""


class LocalApi(OperatorApi, Protocol):
    """The operator API of a gateway in this process."""

    @property
    def answers(self) -> Answers:
        """The functions for the orders that it executes."""

    async def foresee(self, path: str) -> None:
        """Begin what the order that came to *path* will wait for, and wait for nothing."""


class Readiness(Protocol):
    """Whether a gateway accepts messages."""

    @property
    def ready(self) -> bool: ...

    @property
    def standby(self) -> bool:
        """Whether it accepts none because every agent has another gateway: it waits until one becomes free."""

    @property
    def loading(self) -> list[str]:
        """Features that still load."""

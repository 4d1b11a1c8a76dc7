"""A disk and a connection that fail at one step: the process dies there, the disk is full, or the connection breaks."""

import errno
import os
import signal
import threading
from collections.abc import Sequence
from enum import StrEnum

from adapters.channel import (
    Adapter,
    Body,
    ChannelUnavailableError,
    OutboundMessage,
    Receive,
    Sent,
    UnsureSendError,
)


class Fault(StrEnum):
    """What one step meets."""

    NONE = "none"
    KILL = "kill"
    FULL = "full"
    BROKEN = "broken"
    SHORT = "short"
    """Half is written, and the caller goes on."""
    TORN = "torn"
    """Half is written, and the process dies."""

    @property
    def kills(self) -> bool:
        return self in (Fault.KILL, Fault.TORN)

    @property
    def is_about_writes(self) -> bool:
        """Whether only the steps count that write bytes of their own."""
        return self in (Fault.SHORT, Fault.TORN)


_ERRORS = {Fault.FULL: errno.ENOSPC, Fault.BROKEN: errno.EIO}


class Steps:
    """A checkpoint that lets the steps before number *at* pass, meets that one with *fault*, and lets the rest pass."""

    def __init__(self, fault: Fault = Fault.NONE, at: int = 0) -> None:
        self._fault = fault
        self._at = at
        self._lock = threading.Lock()
        self._passed = 0
        self._is_torn = False
        self.met = ""
        """The name of the step that met the fault."""

    def __call__(self, step: str, size: int, /) -> int:
        with self._lock:
            if self._is_torn:
                _die()
            if not self._is_hit(size):
                return size
            self.met = step
            if self._fault in _ERRORS:
                raise OSError(_ERRORS[self._fault], os.strerror(_ERRORS[self._fault]))
            if self._fault is Fault.KILL:
                _die()
            self._is_torn = self._fault is Fault.TORN
            return size // 2

    def _is_hit(self, size: int) -> bool:
        self._passed += bool(size) or not self._fault.is_about_writes
        return not self.met and self._passed == self._at


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Wired:
    """An adapter whose sends pass the checkpoint too: before the platform has the message, and before we know it."""

    def __init__(self, adapter: Adapter, steps: Steps) -> None:
        self._adapter = adapter
        self._steps = steps
        self.channel = adapter.channel
        self.account = adapter.account

    def render(self, markdown: str) -> Sequence[Body]:
        return self._adapter.render(markdown)

    async def listen(self, receive: Receive) -> None:
        await self._adapter.listen(receive)

    async def send(self, message: OutboundMessage) -> Sent:
        try:
            self._steps("send.begin", 0)
        except OSError as exc:
            raise ChannelUnavailableError(str(exc)) from exc
        sent = await self._adapter.send(message)
        try:
            self._steps("send.end", 0)
        except OSError as exc:
            raise UnsureSendError(str(exc)) from exc
        return sent

    async def close(self) -> None:
        await self._adapter.close()

"""Containment of a package's adapter: whatever it raises becomes one of the errors that the gateway knows."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import structlog
from msgspec import Struct

from adapters.channel import (
    Adapter,
    ChannelConfigError,
    ChannelError,
    ChannelUnavailableError,
    FetchRefusedError,
    Receive,
    SendRefusedError,
    UnsureSendError,
)
from gateway.errors import StrandlineError
from gateway.plugins import Plugin

log = structlog.get_logger()

_FACTS = ("channel", "account", "upload_limit", "caption_limit")
_CALLS: Mapping[str, type[ChannelError]] = {
    "render": SendRefusedError,
    "on_deleted": ChannelConfigError,
    "on_held_back": ChannelConfigError,
    "on_joined": ChannelConfigError,
    "on_missed": ChannelConfigError,
    "on_moved": ChannelConfigError,
    "on_reachable": ChannelConfigError,
}
"""Functions of an adapter, by name, and the error that stands for any failure of theirs."""
_COROUTINES: Mapping[str, type[ChannelError]] = {
    "send": UnsureSendError,
    "show_typing": ChannelConfigError,
    "show_draft": ChannelConfigError,
    "react": ChannelConfigError,
    "show_menu": ChannelConfigError,
    "examine": ChannelConfigError,
    "close": ChannelUnavailableError,
}


def contain(adapter: Adapter, plugin: Plugin) -> Adapter:
    """Return *adapter* with the same abilities; its unexpected errors name the package and the remedy."""
    border = _Border(adapter, plugin)
    members: dict[str, object] = {name: getattr(adapter, name) for name in _FACTS if hasattr(adapter, name)}
    members |= {name: border.call(name, error) for name, error in _CALLS.items() if hasattr(adapter, name)}
    members |= {name: border.coroutine(name, error) for name, error in _COROUTINES.items() if hasattr(adapter, name)}
    if hasattr(adapter, "fetch"):
        members["fetch"] = border.fetch
    return cast("Adapter", SimpleNamespace(listen=border.listen, **members))


class _Border(Struct, frozen=True):
    """The one place that a package's adapter is called from."""

    adapter: Any
    plugin: Plugin

    @contextmanager
    def __call__(self, name: str, error: type[ChannelError]) -> Iterator[None]:
        try:
            yield
        except (ChannelError, StrandlineError):
            raise
        except (Exception, SystemExit) as exc:
            log.exception("a package's channel failed", package=self.plugin.package, call=name)
            raise error(str(self.plugin.failure(exc, f"failed in {name}()"))) from exc

    def call(self, name: str, error: type[ChannelError]) -> Callable[..., object]:
        def contained(*arguments: object) -> object:
            with self(name, error):
                return getattr(self.adapter, name)(*arguments)

        return contained

    def coroutine(self, name: str, error: type[ChannelError]) -> Callable[..., object]:
        async def contained(*arguments: object) -> object:
            with self(name, error):
                return await getattr(self.adapter, name)(*arguments)

        return contained

    async def fetch(self, attachment: object) -> AsyncGenerator[bytes]:
        with self("fetch", FetchRefusedError):
            pieces: AsyncIterator[bytes] = self.adapter.fetch(attachment)
            async for piece in pieces:
                yield piece

    async def listen(self, receive: Receive) -> None:
        with self("listen", ChannelUnavailableError):
            await self.adapter.listen(receive)
            raise RuntimeError("it returned, and listens no more")

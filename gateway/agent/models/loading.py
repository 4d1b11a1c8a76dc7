"""Providers' clients by their entry points of `strandline.models`: loads one, and contains what a package's raises."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog
from msgspec import Struct

from gateway.agent.models.messages import Seen
from gateway.agent.models.port import ModelRequest
from gateway.agent.models.provider import Piece, Provider
from gateway.agent.models.settings import HostedSettings
from gateway.agent.models.wire import BrokenReplyError, http_errors
from gateway.errors import ModelError, ModelUnavailableError
from gateway.plugins import MODELS, Plugin, plugins

log = structlog.get_logger()


def load_provider(settings: HostedSettings) -> Provider:
    """Import and make the client that *settings* name, with its SDK. Raises PluginError."""
    plugin = plugins(MODELS)[settings.provider]
    make = plugin.load()
    if not callable(make):
        raise plugin.fault("it is not a function and no class")
    if plugin.is_built_in:
        ours: Provider = make(settings)
        return ours
    try:
        return _Contained(make(settings), plugin)
    except (Exception, SystemExit) as exc:
        raise plugin.failure(exc, f"cannot open models.{settings.name}") from exc


class _Contained(Struct, frozen=True):
    """A package's client: an unexpected error of it is one that another model or a later attempt may mend."""

    provider: Provider
    plugin: Plugin

    async def stream(self, request: ModelRequest, temperature: float | None, seen: Seen) -> AsyncGenerator[Piece]:
        try:
            async with aclosing(self.provider.stream(request, temperature, seen)) as pieces:
                async for piece in pieces:
                    if not isinstance(piece, Piece):
                        raise TypeError(f"it yields {type(piece).__name__}, which is no piece of a reply")
                    yield piece
        except http_errors(ModelError, BrokenReplyError):
            raise
        except (Exception, SystemExit) as exc:
            log.exception("a package's model failed", package=self.plugin.package)
            raise ModelUnavailableError(str(self.plugin.failure(exc, "failed in stream()"))) from exc

    async def close(self) -> None:
        try:
            await self.provider.close()
        except Exception:
            log.exception("a package's model was not closed", package=self.plugin.package)

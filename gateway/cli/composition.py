"""Composes a real gateway for a command that needs one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gateway.cli.invocation import Composed
from gateway.home import Home

if TYPE_CHECKING:
    from gateway.config import Config


@asynccontextmanager
async def compose_app(
    home: Home, config: "Config", environ: Mapping[str, str], *, channels: bool
) -> AsyncIterator[Composed]:
    """Open the application of *home*, whose lock the caller holds."""
    from gateway.app.app import App
    from gateway.runtime.crash_report import reporting

    async with App.open(home, config, environ, channels=channels) as app, reporting(home.crash_report):
        resources = app.parts.resources
        yield Composed(
            app.operator, app.parts.health, app.run, resources.meter, app.web(environ), resources.home.share.over.set
        )

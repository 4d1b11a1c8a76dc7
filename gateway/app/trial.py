"""A copy of a home, opened so that nothing outside of it is reached: no platform, no server, no model."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime

from gateway.app.app import App
from gateway.app.ownership import own
from gateway.app.resources import Machine
from gateway.config import Config, QdrantSettings, RedisSettings, TraceSettings
from gateway.home import Home
from gateway.runtime.clock import SystemClock, utc_now


class RecordedClock(SystemClock):
    """The machine's clock, or the time of the turn that is replayed."""

    def __init__(self) -> None:
        self._at: datetime | None = None

    def go_to(self, at: datetime | None) -> None:
        """Stand still at a recorded time; `None` is the machine's."""
        self._at = at

    def now(self) -> datetime:
        return self._at or utc_now()


@asynccontextmanager
async def opened_copy(copy: Home, environ: Mapping[str, str], clock: RecordedClock) -> AsyncIterator[App]:
    """Open *copy* as this version does, with its index inside; hooks and tool servers of a restored home are disabled.

    Raises what `App.open` raises.
    """
    with own(copy, "strandline upgrade") as config:
        async with App.open(copy, _alone(config), environ, channels=False, machine=Machine(clock)) as app:
            yield app


def _alone(config: Config) -> Config:
    """Return the settings without servers; a summary, which needs a model, is not made."""
    context = replace(config.context, compact=False)
    servers = {"qdrant": QdrantSettings(), "redis": RedisSettings(), "traces": TraceSettings(), "mcp": {}}
    return config.model_copy(update={"context": context, **servers})
